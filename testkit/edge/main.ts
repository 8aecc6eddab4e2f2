// SPDX-License-Identifier: Apache-2.0
// A process of many simulated edges. EDGES (JSON) says which; each event is a line of JSON on stdout, and so is the answer to
// the line `view` on stdin: `{"views": {NODE: …}}`. Any other line is Questions, answered with `{"answers": …}`. It ends when stdin does.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '../../core/clock.js'
import { systemRandom } from '../../core/random.js'
import { makeNodePair } from './certificates.js'
import type { Answers, EdgesConfig, Questions } from './edge-process.js'
import { Edge } from './edge.js'
import { dialWebsocket } from './link.js'
import { fileStore, memoryStore } from './store.js'

const config = JSON.parse(process.env['EDGES'] ?? '{}') as EdgesConfig
const { url, authority, nodes, folder, times = {}, staggerMs = 0 } = config
if (folder !== undefined) mkdirSync(folder, { recursive: true })

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
const edges = new Map<string, Edge>()
const ended: Promise<void>[] = []

const startEdge = async (node: string, index: number): Promise<void> => {
  const tls = { ca: authority.cert, ...(await makeNodePair(authority, node)) }
  const edge = new Edge(
    { node, ip: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`, times },
    {
      clock: systemClock,
      random: systemRandom,
      dial: events => dialWebsocket({ url, node, tls }, events),
      store: folder === undefined ? memoryStore() : fileStore(join(folder, `${node}.jsonl`)),
      onEvent: event => say({ node, ...event }),
    },
  )
  edges.set(node, edge)
  ended.push(edge.run())
}

const askAll = async ({ resource, perSecond, seconds }: Questions): Promise<Answers> => {
  const ms: number[] = []
  const [of, everyMs] = [perSecond * seconds, 1_000 / perSecond]
  let answered = 0
  const askOnce = async (edge: Edge): Promise<void> => {
    const askedAt = performance.now()
    const answer = await edge.ask({ operation: 'query', resource }, null)
    if (answer.kind !== 'answered' || answer.frame.route.operation === 'error') return
    answered++
    ms.push(performance.now() - askedAt)
  }
  const askSteadily = async (edge: Edge): Promise<void> => {
    const startedAt = performance.now()
    const running: Promise<void>[] = []
    for (let index = 0; index < of; index++) {
      const waitMs = startedAt + index * everyMs - performance.now()
      if (waitMs > 0) await new Promise(resolve => setTimeout(resolve, waitMs))
      running.push(askOnce(edge))
    }
    await Promise.all(running)
  }
  await Promise.all([...edges.values()].map(askSteadily))
  return { asked: of * edges.size, answered, ms }
}

createInterface({ input: process.stdin })
  .on('line', line => {
    if (line !== 'view')
      void askAll(JSON.parse(line) as Questions).then(answers => say({ answers }))
    else say({ views: Object.fromEntries([...edges].map(([node, { view }]) => [node, view])) })
  })
  .on('close', () => {
    for (const edge of edges.values()) edge.kill()
    void Promise.all(ended).then(() => process.exit(0))
  })

for (const [index, node] of nodes.entries()) {
  await startEdge(node, index + 1)
  if (staggerMs > 0) await new Promise(resolve => setTimeout(resolve, staggerMs))
}
