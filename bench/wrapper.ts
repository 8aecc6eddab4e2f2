// SPDX-License-Identifier: Apache-2.0
// The wrapper's bars: the bundle under the image's flags, in front of an apiserver that is played, or of a real one.
import { buildMeter } from '../testkit/meter/meter.js'
import { KUBELETS } from './agent/world/cluster.js'
import { readArguments, say } from './command/arguments.js'
import { largeRows, latencyRows, smallMemoryRows } from './wrapper/flips.js'
import { buildBundle, finish, isIsolated, runIsolated } from './wrapper/isolated.js'
import { linkRows } from './wrapper/link.js'
import { listRows } from './wrapper/lists.js'
import { lossRows } from './wrapper/losses.js'
import type { Row } from './wrapper/table.js'

const HELP = `usage: npm run bench -- wrapper [options]
What the wrapper promises, measured on the bundle under the flags of its DaemonSet. Needs Linux; the list beside a real
kube-apiserver needs root and the lab's programs (KUBEBUILDER_ASSETS, or they are built).

  --only latency,flip,memory,list,loss,link   some of them
  --nodes 10,100,1000                    of the rows about the cloud link
  --seconds 300                          that each of them is counted, at the interface: root, Go and iproute2
  --changes 1000000                      of the row about lost events
  --seed N                               of its chance (default 1)
  --straight                             the row about lost events without a wrapper: the bench's own mistakes
  -o json                                the rows as JSON, those of the cloud link with what was counted of each kind

${KUBELETS}
Times and memory want a machine that does nothing else.
Exits with 1 when a bar is missed or not all packets were counted, with 2 for a bad argument.
`

const PARTS = ['latency', 'flip', 'memory', 'list', 'loss', 'link'] as const
type Part = (typeof PARTS)[number]

const { values, refuse, whole } = readArguments('wrapper', HELP, {
  only: { type: 'string', default: PARTS.join() },
  changes: { type: 'string' },
  seed: { type: 'string' },
  nodes: { type: 'string', default: '10,100,1000' },
  seconds: { type: 'string' },
  straight: { type: 'boolean', default: false },
})
const only = values.only.split(',')
const unknown = only.find(name => !PARTS.includes(name as Part))
if (unknown !== undefined) refuse(`--only must be of ${PARTS.join(', ')}, got ${unknown}`)
const changes = whole('changes', values.changes, 1_000_000)
const seed = whole('seed', values.seed, 1)
const link = {
  nodes: values.nodes.split(',').map(text => whole('nodes', text, 0)),
  seconds: whole('seconds', values.seconds, 300),
}

if (!isIsolated) {
  buildBundle()
  const isLinkMeasured = only.includes('link')
  const prepare = (): void => {
    if (isLinkMeasured) buildMeter(process.env)
  }
  const ended = only.includes('list') || isLinkMeasured ? await runIsolated({ prepare }) : undefined
  if (ended !== undefined) process.exit(ended)
}

const MEASURES: Readonly<Record<Part, () => Promise<readonly Row[]>>> = {
  latency: latencyRows,
  flip: largeRows,
  memory: smallMemoryRows,
  list: () => listRows(isIsolated, say),
  link: () => linkRows(isIsolated, link, say),
  loss: () => lossRows({ changes, seed, isStraight: values.straight }, say),
}

const rows: Row[] = []
for (const part of PARTS.filter(name => only.includes(name))) {
  say(`${part} …`)
  rows.push(...(await MEASURES[part]()))
}
finish(rows, values.output)
