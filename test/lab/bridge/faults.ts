// SPDX-License-Identifier: Apache-2.0
// What goes wrong around a bridge: edges that pretend or flood, a leader that is killed, an apiserver that is away.
import { sleep, systemClock } from '../../../core/clock.js'
import { textAt } from '../../../core/json-at.js'
import type { BridgeProcess } from '../../../testkit/edge/bridge-process.js'
import type { CloudTarget } from '../../../testkit/edge/link.js'
import {
  openRaw,
  readiness,
  readinessDuring,
  startBridge,
  type Claims,
  type Seams,
  type StartedEdge,
} from './stage.js'

const AWAY_MS = 60_000
const QUERIES = 4_000
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

const podOn = (name: string, node: string): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: shop }
spec:
  nodeName: ${node}
  containers: [{ name: c, image: i, envFrom: [{ configMapRef: { name: prices } }, { secretRef: { name: key } }] }]
`

const lost = (edges: readonly StartedEdge[]): number =>
  edges.reduce((sum, edge) => sum + edge.count('disconnected'), 0)

const eachWroteSince = (
  edges: readonly StartedEdge[],
  before: readonly number[],
): (() => boolean) => {
  return () => edges.every((edge, index) => edge.leases().written > before[index]!)
}

const written = (edges: readonly StartedEdge[]): readonly number[] =>
  edges.map(edge => edge.leases().written)

/** What somebody with the certificate of one node says in the name of another. @param target with that certificate */
export const playSpoofing = async (
  { plane }: Seams,
  claims: Claims,
  target: CloudTarget,
  edges: readonly StartedEdge[],
): Promise<void> => {
  const [victim] = edges
  const before = lost(edges)
  const refusal = (of: CloudTarget): Promise<string> =>
    openRaw(of).opened.then(
      () => 'was let in',
      (error: unknown) => (error as Error).message,
    )
  for (const [what, of] of [
    ['in the header', { ...target, nodeId: victim!.node }],
    ['in the path', { ...target, node: victim!.node, nodeId: target.node }],
    ['in both', { ...target, node: victim!.node }],
  ] as const) {
    const said = await refusal(of)
    claims.claim(`another node's name ${what} is refused`, said.includes('403'), said)
  }
  claims.claim('… and that node stays connected', lost(edges) === before)
  await plane.kubectl(['apply', '-f', '-'], podOn('theirs', victim!.node))
  const own = openRaw(target)
  await own.opened
  for (const [what, resource] of [
    ["the Secret of another edge's Pod", 'shop/secret/key'],
    ["KubeEdge's authority", 'kubeedge/secret/casecret'],
    ["the Secret by that edge's name", `node/${victim!.node}/shop/secret/key`],
  ] as const) {
    const { route, content } = await own.ask('query', resource, null)
    const isRefused = route.operation === 'error' && !JSON.stringify(content).includes('"data"')
    claims.claim(`${what} is Forbidden`, isRefused, JSON.stringify(content))
  }
  own.reset()
}

/** One edge asks as fast as its socket takes it. */
export const playFlood = async (
  { plane, say, signal }: Seams,
  claims: Claims,
  target: CloudTarget,
  edges: readonly StartedEdge[],
): Promise<void> => {
  const raw = openRaw(target)
  await raw.opened
  // Nothing is sent to a node that has only connected.
  const labels = { 'node-role.kubernetes.io/edge': '' }
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: target.node, labels } }
  await plane.kubectl(['apply', '-f', '-'], JSON.stringify(node))
  await plane.kubectl(['apply', '-f', '-'], podOn('asker', target.node))
  await claims.becomes('an edge gets the ConfigMap of its Pod', async () => {
    const { route } = await raw.ask('query', 'shop/configmap/prices', null)
    return route.operation === 'response'
  })
  const before = edges.map(edge => edge.leases())
  const asked = new Set<string>()
  const startedAt = performance.now()
  for (let index = 0; index < QUERIES; index++)
    asked.add(raw.send('query', 'shop/configmap/prices', null).header.msg_id)
  const answered = (): number =>
    raw.got.filter(
      ({ header, route }) =>
        route.operation === 'response' && asked.has(header.parent_msg_id ?? ''),
    ).length
  const took = await claims.becomes(`${QUERIES} queries at once are all answered`, () => answered() === QUERIES, 90_000) // prettier-ignore
  say(`  after ${seconds(took)}`)
  // Each renews once in that time, or right after it.
  await sleep(systemClock, Math.max(0, 15_000 - (performance.now() - startedAt)), signal)
  const after = edges.map(edge => edge.leases())
  claims.claim(
    '… and all others renewed their Leases meanwhile',
    after.every(
      ({ written: now, failed }, index) =>
        now > before[index]!.written && failed === before[index]!.failed,
    ),
  )
  raw.reset()
  // Nobody speaks for it any more, and later claims are about all Nodes.
  await plane.kubectl(['delete', 'node', target.node])
}

/** A second bridge stands by; the first is killed. @returns the one that serves then */
export const playFailover = async (
  seams: Seams,
  claims: Claims,
  { bridge, edges, urls }: { bridge: BridgeProcess; edges: readonly StartedEdge[]; urls: string[] },
): Promise<BridgeProcess> => {
  const { plane, say } = seams
  await plane.kubectl(['apply', '-f', '-'], podOn('stays', edges[0]!.node))
  const phase = async () =>
    textAt(
      JSON.parse(await plane.kubectl(['-n', 'shop', 'get', 'pod', 'stays', '-o', 'json'])),
      ...['status', 'phase'],
    )
  await claims.becomes('a Pod runs', async () => (await phase()) === 'Running')
  const second = startBridge(seams, 1)
  await claims.becomes('a second bridge stands by', async () => {
    const status = await second.status()
    return status?.leader.holder.startsWith('bridge-0') === true && !status.isServing
  })
  urls.push(second.url)
  // The record of what the Pod's edge holds is in the cluster by then.
  await sleep(systemClock, 5_000, seams.signal)
  const unasked = edges[0]!.edge.view.unasked['pod']
  const before = written(edges)
  const killedAt = performance.now()
  await bridge.kill()
  say('  the leader was killed')
  const watching = readinessDuring(seams, 90_000)
  await claims.becomes('the second serves', async () => (await second.status())?.isServing === true)
  say(`  after ${seconds(performance.now() - killedAt)}`)
  await claims.becomes('all edges are there, and renew', eachWroteSince(edges, before), 90_000)
  say(`  after ${seconds(performance.now() - killedAt)}`)
  const seen = await watching
  claims.claim('no edge was NotReady', seen === 'True', seen)
  claims.claim('the Pod still runs', (await phase()) === 'Running')
  claims.claim(
    '… and its edge was not told of it again',
    edges[0]!.edge.view.unasked['pod'] === unasked,
  )
  return second
}

/** The apiserver is away for a minute. */
export const playApiAway = async (
  seams: Seams,
  claims: Claims,
  edges: readonly StartedEdge[],
): Promise<void> => {
  const { plane, say, signal } = seams
  const before = lost(edges)
  const failedBefore = edges.map(edge => edge.leases().failed)
  await plane.killServer()
  await sleep(systemClock, AWAY_MS, signal)
  const refusals = edges.map((edge, index) => edge.leases().failed - failedBefore[index]!)
  claims.claim('every edge is told that the apiserver is away', refusals.every(count => count > 0)) // prettier-ignore
  const last = written(edges)
  await plane.startServer(signal)
  say(`  the apiserver was away for ${AWAY_MS / 1_000} s`)
  const back = await claims.becomes('all edges renew again', eachWroteSince(edges, last), 60_000)
  say(`  after ${seconds(back)}`)
  claims.claim('none of them lost its connection', lost(edges) === before)
  // The controller manager believes what it knew of Leases until it has listed them anew, and marks nodes meanwhile.
  const ready = await claims.becomes('all are Ready', async () => (await readiness(seams)).join() === edges.map(() => 'True').join(), 120_000) // prettier-ignore
  say(`  after ${seconds(ready)}`)
  await plane.kubectl(['-n', 'shop', 'patch', 'configmap', 'prices', '-p', '{"data":{"tea":"3"}}'])
  const { store } = edges[0]!
  await claims.becomes('a change of a ConfigMap arrives', () => textAt(store.get('shop/configmap/prices'), 'data', 'tea') === '3') // prettier-ignore
}
