// SPDX-License-Identifier: Apache-2.0
// TypeScript as JavaScript. What esbuild made of a file is kept in .cache/transpiled under the file's own path, with a hash of
// all that it was made from. `node test/runner/transpiled.mjs` makes all that is missing: test files would otherwise start
// esbuild each for itself.
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SOURCE_FOLDERS } from '../../folders.mjs'

const root = join(import.meta.dirname, '..', '..')
const folder = join(root, '.cache', 'transpiled')
const require = createRequire(import.meta.url)
const config = readFileSync(join(root, 'tsconfig.json'), 'utf8')
const { version } = require('esbuild/package.json')

/** Stack traces and coverage read the source itself, so that its map need not hold it. */
const OPTIONS = {
  ...{ loader: 'ts', format: 'esm', target: 'node20.19', tsconfigRaw: config },
  ...{ sourcemap: 'external', sourcesContent: false, logLevel: 'silent' },
}

/** The compiler is loaded at the first miss. */
const transpile = async (url, source) => {
  const { transform } = await import('esbuild')
  const { code, map } = await transform(source, OPTIONS)
  const data = Buffer.from(JSON.stringify({ ...JSON.parse(map), sources: [url] })).toString(
    'base64',
  )
  return `${code}//# sourceMappingURL=data:application/json;charset=utf-8;base64,${data}`
}

const read = path => (existsSync(path) ? readFileSync(path, 'utf8') : '')

export const javaScriptOf = async (path, url) => {
  const source = readFileSync(path, 'utf8')
  const from = [version, OPTIONS, path, source]
  const hash = createHash('sha256').update(JSON.stringify(from)).digest('hex')
  const kept = join(folder, `${relative(root, path)}.js`)
  const known = read(kept)
  if (known.endsWith(`\n//${hash}`)) return known
  const made = `${await transpile(url, source)}\n//${hash}`
  mkdirSync(dirname(kept), { recursive: true })
  // Another process may make the same: the last one's stays, whole.
  const unfinished = `${kept}.${process.pid}`
  writeFileSync(unfinished, made)
  renameSync(unfinished, kept)
  return made
}

const typeScriptFiles = () =>
  SOURCE_FOLDERS.flatMap(name =>
    readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => join(root, name, file)),
  )

if (process.argv[1] === import.meta.filename)
  await Promise.all(typeScriptFiles().map(path => javaScriptOf(path, pathToFileURL(path).href)))
