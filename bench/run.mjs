// SPDX-License-Identifier: Apache-2.0
// `npm run bench -- NAME [ARGUMENTS]`: bundles bench/NAME.ts, which takes a second, and runs it with its arguments.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const [name = '', ...rest] = process.argv.slice(2)
const entry = join(root, 'bench', `${name}.ts`)
if (!/^[a-z]+$/.test(name) || !existsSync(entry)) {
  console.error(`there is no bench ${JSON.stringify(name)}; try: npm run bench -- scale --help`)
  process.exit(2)
}
const outfile = join(root, '.cache', `bench-${name}.mjs`)
await build({
  entryPoints: [entry],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'error',
})
process.argv = [process.argv[0], entry, ...rest]
await import(pathToFileURL(outfile).href)
