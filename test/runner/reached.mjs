// SPDX-License-Identifier: Apache-2.0
// Which files a change reaches: what is said about any other, by its own text and that of all it imports, stands.
import { posix } from 'node:path'

const IMPORT = /\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g

/** What a file of this text imports of ours. */
const importsOf = (file, text) =>
  [...text.matchAll(IMPORT)].map(([, path]) =>
    posix.join(posix.dirname(file), path).replace(/\.js$/, '.ts'),
  )

/** Of these files those that changed, and those that import one of them, directly or through others. */
export const reachedBy = (changed, files, read) => {
  const importers = new Map()
  for (const file of files)
    for (const imported of importsOf(file, read(file)))
      importers.set(imported, [...(importers.get(imported) ?? []), file])
  const reached = new Set(changed)
  for (const file of reached)
    for (const importer of importers.get(file) ?? []) reached.add(importer)
  return files.filter(file => reached.has(file))
}
