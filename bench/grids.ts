// SPDX-License-Identifier: Apache-2.0
// The bars of grids: the bundle as a process, against a real apiserver.
import { readArguments, say } from './command/arguments.js'
import { gridRowsOf } from './grids/measure.js'
import { buildBundle, finish, isIsolated, runIsolated } from './wrapper/isolated.js'

const HELP = `usage: npm run bench -- grids [options]
What the controller of grids promises, measured on the bundle against a real kube-apiserver without other controllers. Needs Linux,
namespaces (root, or user namespaces), and the lab's programs (KUBEBUILDER_ASSETS, or they are built).

  --grids 10    DeploymentGrids
  --units 1000  units of each, one node in each
  --idle 60     seconds of rest that are looked at
  --settle 150  seconds of rest before them: V8 gives memory back 100 s after work, once, which costs about half a second of CPU
  --quick       counts alone, which hold on a busy machine too: 3 grids of 100 units, 5 s of rest; ends with N passed, N failed
  -o json       the rows as JSON

SuperEdge's controller on the same machine, 10 x 1000 units: 31.6 s, 6.8 s CPU, 10000 creates and 1899 requests in vain, 237 MiB.
Times, CPU and memory want a machine that does nothing else.
Exits with 1 when a bar is missed, with 2 for a bad argument.
`

const { values, refuse, whole } = readArguments('grids', HELP, {
  grids: { type: 'string' },
  units: { type: 'string' },
  idle: { type: 'string' },
  settle: { type: 'string' },
  quick: { type: 'boolean', default: false },
})
const size = {
  grids: whole('grids', values.grids, values.quick ? 3 : 10, 2),
  units: whole('units', values.units, values.quick ? 100 : 1_000, 2),
  idleMs: 1_000 * whole('idle', values.idle, values.quick ? 5 : 60),
  settleMs: values.quick ? 0 : 1_000 * whole('settle', values.settle, 150),
  isTimed: !values.quick,
}

if (!isIsolated) {
  buildBundle()
  const ended = await runIsolated({ ways: [[], ['--user', '--map-root-user']] })
  process.exit(ended ?? refuse('needs network namespaces: run it as root'))
}
const rows = await gridRowsOf(size, say)
const missed = rows.filter(({ isMet }) => isMet === false).length
process.once('exit', () => {
  if (values.quick) process.stdout.write(`${rows.length - missed} passed, ${missed} failed\n`)
})
finish(rows, values.output)
