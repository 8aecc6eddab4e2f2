// SPDX-License-Identifier: Apache-2.0
// The agents' own client of the Kubernetes API, through the MetaServer of a simulated edge and a bridge, on real sockets.
import t, { type Test } from 'tap'
import { makeKubeApi } from '../../../agent/adapters/kube-api.js'
import { ApiBackoff } from '../../../agent/api-backoff.js'
import type { KubeApi, NodeEvent } from '../../../agent/ports/kube-api.js'
import { ConfinementCheck } from '../../../agent/stages/write/confinement.js'
import { systemClock } from '../../../core/clock.js'
import { KubeStatusError } from '../../../core/errors.js'
import { valueAt } from '../../../core/json-at.js'
import { silentLog } from '../../../core/log.js'
import { systemRandom } from '../../../core/random.js'
import { makeCredentials } from '../../../kube/client/credentials.js'
import { serveMeta } from '../../../testkit/edge/meta-http.js'
import type { TestApi } from '../../../testkit/kube/api-client.js'
import { openBridge, openCluster, until } from './stage.js'

t.setTimeout(110_000)

const { signal } = new AbortController()
const ACCOUNT = 'system:serviceaccount:edge-system:edge-health-agent'
const SYSTEM = '/api/v1/namespaces/edge-system'

const EVENT: NodeEvent = {
  ...{ node: 'e2', nodeUid: 'u', type: 'Warning', reason: 'PeersCondemned', action: 'Mark' },
  ...{ note: 'dead', reportingInstance: 'e1' },
}

const placeAgent = (cluster: TestApi, node: string) =>
  cluster.ask(`POST ${SYSTEM}/pods`, {
    metadata: { name: `edge-health-agent-${node}` },
    spec: {
      ...{ nodeName: node, serviceAccountName: 'edge-health-agent' },
      containers: [{ name: 'c', image: 'i' }],
    },
  })

/** What the apiserver, or the bridge, said. */
const codeOf = (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 200,
    (error: unknown) => (error instanceof KubeStatusError ? error.status : 0),
  )

/** What an agent finds out at once. */
const confinementOf = async (kube: KubeApi) => {
  let now = 0
  const clock = { ...systemClock, now: () => (now += 3_600_000) }
  const seams = { clock, random: systemRandom, log: silentLog }
  const apiBackoff = new ApiBackoff(seams)
  const check = new ConfinementCheck('e1', { kube, ...seams, apiBackoff })
  check.review()
  await until(() => {
    check.review()
    return check.current.at > -Infinity
  })
  await check.stop()
  return check.current
}

/** An edge behind a bridge, and an agent's client on its node. */
const open = async (t: Test) => {
  const cluster = await openCluster(t)
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  const { edge } = await bridge.edge('e1')
  await until(async () => (await cluster.ask('GET /api/v1/nodes/e1')).status === 200)
  for (const name of ['e2', 'e3']) {
    const metadata = { name, labels: { zone: name === 'e2' ? 'a' : 'b' } }
    const addresses = [{ type: 'InternalIP', address: '10.0.0.2' }]
    await cluster.ask('POST /api/v1/nodes', { metadata, status: { addresses } })
  }
  await cluster.ask('PATCH /api/v1/nodes/e1', { metadata: { labels: { zone: 'a' } } }, { 'content-type': 'application/merge-patch+json' }) // prettier-ignore
  const meta = await serveMeta(edge.meta)
  const environment = {}
  const seams = { clock: systemClock, random: systemRandom, log: silentLog }
  const credentials = makeCredentials({ masterUrl: meta.url, environment }, seams)
  const kube = makeKubeApi(credentials, seams, { watch: { spreadMs: 0 } })
  t.teardown(async () => {
    await kube.close()
    await meta.close()
  })
  const asked = (verb: string, resource: string) =>
    cluster.api.requests.filter(
      each => each.client === ACCOUNT && each.verb === verb && each.resource === resource,
    )
  return { bridge, cluster, edge, kube, asked }
}

t.test('an agent behind a bridge reads its zone and writes what agents write', async t => {
  const { cluster, kube, asked } = await open(t)
  t.equal(await codeOf(kube.createEvent(EVENT, signal)), 403) // prettier-ignore
  await placeAgent(cluster, 'e1')
  // The bridge sees the Pod a moment later.
  await until(() => kube.listMembers('zone=a', undefined, signal).then(({ members }) => members.length === 2, () => false)) // prettier-ignore

  const { members, version } = await kube.listMembers('zone=a', undefined, signal)
  t.strictSame(members.map(({ name }) => name), ['e1', 'e2']) // prettier-ignore
  t.match(version, /^\d+$/)
  t.match(await kube.getMember('zone=a', 'e2', signal), { members: [{ address: '10.0.0.2' }] })
  t.strictSame((await kube.getMember('zone=a', 'e3', signal)).members, [])
  t.equal((await kube.getNodeNotes('e2', signal)).uid, (await kube.getNode('e2', signal)).uid)

  const note = (key: string, value: string) =>
    ({ type: 'merge', body: { metadata: { annotations: { [key]: value } } } }) as const
  t.match(await kube.patchNode('e2', note('nodeunhealth', 'yes'), signal), {
    annotations: { nodeunhealth: 'yes' },
  })
  await kube.patchNode('e1', note('edge-health/identity', 'i'), signal)
  const condition = { type: 'PeerHealth', status: 'True', reason: 'x' }
  const status = { type: 'strategic-merge', body: { status: { conditions: [condition] } } } as const
  t.match(await kube.patchNodeStatus('e2', status, signal), { conditions: [condition] })
  await kube.tryPatch('node', 'e1', { type: 'merge', body: {} }, signal)
  t.equal(asked('patch', 'nodes').filter(({ isDryRun }) => isDryRun).length, 1)
  t.equal(await codeOf(kube.patchNode('e1', note('nodeunhealth', 'yes'), signal)), 403)
  t.match(await confinementOf(kube), { state: 'yes' }, 'the bridge keeps it to its job')
  t.equal(await codeOf(kube.patchNode('e2', note('edge-health/identity', 'i'), signal)), 403)
  const found = (await cluster.ask('GET /api/v1/nodes/e2')).body
  t.match(valueAt(found, 'metadata', 'annotations'), { nodeunhealth: 'yes' })
  const writers = asked('patch', 'nodes').map(({ query }) => new URLSearchParams(query))
  t.ok(writers.every(query => query.get('fieldManager') === 'edge-health-agent'))

  const lease = { spec: { holderIdentity: 'e2', leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.000000Z' } } // prettier-ignore
  const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
  await cluster.ask(`POST ${LEASES}`, { metadata: { name: 'e2' }, ...lease })
  const { resourceVersion } = await kube.getLease('e2', signal)
  const renewTime = '2026-01-01T00:00:10.000000Z'
  const body = { metadata: { resourceVersion }, spec: { renewTime } }
  const renewed = await kube.patchLease('e2', { type: 'merge', body }, signal)
  t.match(renewed, { renewTime })
  t.equal(await codeOf(kube.patchLease('e2', { type: 'merge', body }, signal)), 409)
  t.equal(await codeOf(kube.patchLease('e1', { type: 'merge', body }, signal)), 403)
  // The apiserver's own answer, whatever it is, is the sign of the cloud.
  const own = { namespace: 'edge-system', name: 'edge-health-e1', holder: 'e1', durationSeconds: 9 }
  await kube.renewAgentLease(own, signal)
  t.equal(asked('create', 'leases').length, 1)
  await kube.createEvent(EVENT, signal)
  t.equal(asked('create', 'events').length, 1)
  t.strictSame(asked('get', 'secrets'), [])
})

t.test('an agent behind a bridge sees what changes, also after a lost connection', async t => {
  const { bridge, cluster, edge, kube } = await open(t)
  await placeAgent(cluster, 'e1')
  await cluster.ask('POST /api/v1/nodes', { metadata: { name: 'e6', labels: { zone: 'a' } } })
  await until(() => kube.listMembers('zone=a', undefined, signal).then(({ members }) => members.length === 3, () => false)) // prettier-ignore
  // The bridge knows all Nodes already, so that the edge is not sent those that are in the agent's list.
  const nothing = () => undefined
  const earlier = kube.watchMembers(
    { selector: 'zone=z' },
    { replace: nothing, upsert: nothing, remove: nothing },
  )
  await until(async () => (await bridge.fetchText('/status')).text.includes('"objects":4'))
  await earlier.stop()
  await cluster.ask(`POST ${SYSTEM}/configmaps`, {
    ...{ metadata: { name: 'edge-health-config' }, data: { a: '1' } },
  })
  const members = new Set<string>()
  kube.watchMembers(
    { selector: 'zone=a' },
    {
      replace: items => {
        members.clear()
        for (const { name } of items) members.add(name)
      },
      upsert: ({ name }) => members.add(name),
      remove: name => members.delete(name),
    },
  )
  const seen: (string | undefined)[] = []
  kube.watchConfigMap('edge-system', 'edge-health-config', {
    replace: ([map]) => seen.push(map?.data['a']),
    upsert: ({ data }) => seen.push(data['a']),
    remove: () => seen.push(undefined),
  })
  await until(() => members.size === 3 && seen.at(-1) === '1' && edge.meta.watches === 2)
  const MERGE = { 'content-type': 'application/merge-patch+json' }
  await cluster.ask('POST /api/v1/nodes', { metadata: { name: 'e4', labels: { zone: 'a' } } })
  await cluster.ask(`PATCH ${SYSTEM}/configmaps/edge-health-config`, { data: { a: '2' } }, MERGE)
  await until(() => members.has('e4') && seen.at(-1) === '2')
  await cluster.ask('PATCH /api/v1/nodes/e4', { metadata: { labels: { zone: 'b' } } }, MERGE)
  await cluster.ask('PATCH /api/v1/nodes/e6', { metadata: { labels: { zone: 'b' } } }, MERGE)
  await cluster.ask('DELETE /api/v1/nodes/e2')
  await until(() => members.size === 1 && members.has('e1'))
  const { program } = bridge
  await program.stop()
  const next = await openBridge(t, cluster, { listenAddress: { host: '127.0.0.1', port: bridge.ports.hub } }) // prettier-ignore
  await until(next.isServing)
  await until(async () => (await next.fetchText('/status')).text.includes('"watches":{"watches":2'))
  await cluster.ask('POST /api/v1/nodes', { metadata: { name: 'e5', labels: { zone: 'a' } } })
  await until(() => members.has('e5'))
  t.pass('its edge named its watches to the next bridge')
  await kube.close()
  await until(async () => (await next.fetchText('/status')).text.includes('"watches":{"watches":0'))
})
