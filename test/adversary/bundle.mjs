// SPDX-License-Identifier: Apache-2.0
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

/** One file of the adversary and the sources under `root`, whichever copy of the repository that is. */
export const bundle = async (root, outfile) => {
  mkdirSync(dirname(outfile), { recursive: true })
  await build({
    entryPoints: [join(root, 'test/adversary/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'error',
  })
}
