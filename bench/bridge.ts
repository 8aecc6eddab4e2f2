// SPDX-License-Identifier: Apache-2.0
// The bars of the bridge: the bundle as a process, against a real apiserver, with simulated edges in processes of their own.
import { readArguments, say } from './command/arguments.js'
import { MEASURES, PARTS, type Part } from './bridge/measure.js'
import { buildBundle, finish, isIsolated, runIsolated } from './wrapper/isolated.js'
import type { Row } from './wrapper/table.js'

const HELP = `usage: npm run bench -- bridge [options]
What the bridge promises, measured on the bundle against a real kube-apiserver, with edges that behave as KubeEdge's were recorded
to. Needs Linux, namespaces (root, or user namespaces), and the lab's programs (KUBEBUILDER_ASSETS, or they are built).

  --only ${PARTS.join()}   some of the parts
  --edges 480    edges that are connected
  --many 2000    edges of the rows about memory and a restart
  --seconds 60   how long Leases and queries are looked at
  --quick        counts alone, which hold on a busy machine too: 20 edges, 15 s, a tenth of the objects; ends with N passed, N failed
  -o json        the rows as JSON

cloudcore on the same machine, 480 edges: Leases 8 / 61 ms, 185 MB, 10.8 % of a core; in a flood 388 ms, and 20 % of queries answered.
Times, CPU and memory want a machine that does nothing else; the edges themselves need more of it than the bridge.
Exits with 1 when a bar is missed, with 2 for a bad argument.
`

const { values, refuse, whole } = readArguments('bridge', HELP, {
  only: { type: 'string', default: PARTS.join() },
  edges: { type: 'string' },
  many: { type: 'string' },
  seconds: { type: 'string' },
  quick: { type: 'boolean', default: false },
})
const only = values.only.split(',')
const unknown = only.find(name => !PARTS.includes(name as Part))
if (unknown !== undefined) refuse(`--only must be of ${PARTS.join(', ')}, got ${unknown}`)
const size = {
  edges: whole('edges', values.edges, values.quick ? 20 : 480, 10),
  many: whole('many', values.many, values.quick ? 50 : 2_000),
  seconds: whole('seconds', values.seconds, values.quick ? 15 : 60),
  share: values.quick ? 0.1 : 1,
  isTimed: !values.quick,
}

if (!isIsolated) {
  buildBundle()
  const ended = await runIsolated({ ways: [[], ['--user', '--map-root-user']] })
  process.exit(ended ?? refuse('needs network namespaces: run it as root'))
}
const rows: Row[] = []
for (const part of PARTS.filter(name => only.includes(name))) {
  say(`${part} …`)
  const measured = await MEASURES[part](size, say)
  for (const row of measured) say(`  ${row.what}: ${row.measured}`)
  rows.push(...measured)
}
const missed = rows.filter(({ isMet }) => isMet === false).length
process.once('exit', () => {
  if (values.quick) process.stdout.write(`${rows.length - missed} passed, ${missed} failed\n`)
})
finish(rows, values.output)
