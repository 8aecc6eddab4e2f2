// SPDX-License-Identifier: Apache-2.0
// `npm run lab`: agents against a real control plane and real networks. `-- --help` says what it takes.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..', '..')
process.chdir(root)
await build({
  absWorkingDir: root,
  entryPoints: ['test/lab/main.ts', 'test/lab/inside.ts', 'test/lab/rogue/main.ts'],
  outdir: '.cache/lab',
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'warning',
})
// The agents are the bundle that is shipped, made from what is here now.
const withoutAgents = ['build', 'confine', 'conformance', 'grid-rows', 'names', 'list', 'help']
const runsAgents = !withoutAgents.includes(process.argv[2])
if (runsAgents) {
  const { status } = spawnSync(process.execPath, ['build.mjs', '--quiet'], { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
await import(pathToFileURL(join(root, '.cache/lab/main.mjs')).href)
