// SPDX-License-Identifier: Apache-2.0
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { build } from 'esbuild'

/** `entry` and the sources that it imports, as one file that Node.js runs. Packages stay apart. */
export const makeSingleFile = async (entry, outfile) => {
  mkdirSync(dirname(outfile), { recursive: true })
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
}
