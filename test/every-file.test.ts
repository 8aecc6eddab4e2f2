// SPDX-License-Identifier: Apache-2.0
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')

const { PROGRAM_FOLDERS } = (await import(new URL('../folders.mjs', import.meta.url).href)) as {
  PROGRAM_FOLDERS: readonly string[]
}

// cli/ has no coverage to answer for: it is the start of programs.
for (const folder of PROGRAM_FOLDERS.filter(folder => folder !== 'cli')) {
  for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue
    await t.resolves(
      import(join(root, folder, name)),
      `${folder}/${name} loads without side effects`,
    )
  }
}
