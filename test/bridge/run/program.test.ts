// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { systemRandom } from '../../../core/random.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { openBridge, openCluster, until } from './stage.js'

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/e1'

t.test('an edge registers, and its Lease is renewed', async t => {
  const cluster = await openCluster(t)
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  const { events, count, edge } = await bridge.edge('e1')
  await until(() => count('lease') >= 3)
  t.ok(events.every(event => event.kind !== 'lease' || event.code === 200))
  t.equal(edge.view.isDead, false)
  const node = await cluster.ask('GET /api/v1/nodes/e1')
  t.match(node.body, { metadata: { name: 'e1', labels: { 'node-role.kubernetes.io/edge': '' } } })
  const lease = await cluster.ask(`GET ${LEASE}`)
  t.match(lease.body, { spec: { holderIdentity: 'e1', leaseDurationSeconds: 40 } })
  const { text } = await bridge.fetchText('/metrics')
  t.match(text, /edge_health_bridge_connected 1\n/)
  t.match(text, /edge_health_bridge_requests_total\{handler="update-lease",result="done"\} \d/)
})

t.test('no node can connect as another, and a second socket ends the first', async t => {
  const cluster = await openCluster(t)
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  const spoofer = await bridge.edge('e1', { nodeId: 'e2' })
  await until(() => spoofer.count('refused') > 0)
  t.match(spoofer.events[0], { reason: /403/ })
  t.equal((await cluster.ask('GET /api/v1/nodes/e2')).status, 404)
  const first = await bridge.edge('e3')
  await until(() => first.count('registered') === 1)
  await bridge.edge('e3')
  await until(() => first.count('disconnected') > 0)
  const { text } = await bridge.fetchText('/metrics')
  t.match(text, /edge_health_bridge_ended_total\{reason="another connection of the node"\} \d/)
  t.match(text, /edge_health_bridge_refused_total\{status="403"\} \d/)
})

t.test('a certificate for a Node that is not an edge node opens no connection', async t => {
  const cluster = await openCluster(t)
  await cluster.ask('POST /api/v1/nodes', { metadata: { name: 'cp-1', labels: { a: 'b' } } })
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  const thief = await bridge.edge('cp-1')
  await until(() => thief.count('refused') > 0)
  t.match(thief.events[0], { reason: /403/ })
  t.equal(thief.count('connected'), 0)
})

t.test('a bridge whose work ended by a bug says that it failed', async t => {
  const cluster = await openCluster(t)
  let isBroken = false
  const bits64 = (): bigint => {
    if (isBroken) throw new Error('broken')
    return systemRandom.bits64()
  }
  const bridge = await openBridge(t, cluster, {}, { random: { ...systemRandom, bits64 } })
  // What the election needs it has; the term needs more.
  isBroken = true
  await t.rejects(bridge.program.failed!, { message: 'broken' })
  t.match(bridge.log.lines.at(-1), { message: 'bug: the bridge ended' })
  await bridge.program.stop()
})

t.test('one of two bridges serves; when it stops the other does', async t => {
  const cluster = await openCluster(t)
  const one = await openBridge(t, cluster)
  await until(one.isServing)
  const two = await openBridge(t, cluster)
  await until(async () => (await two.fetchText('/readyz')).status === 200)
  const turnedAway = await two.edge('e1')
  await until(() => turnedAway.count('refused') > 0)
  t.match(turnedAway.events[0], { reason: /503/ })
  const ca = (await one.pairOf('x')).ca
  t.equal((await two.pairOf('x')).ca, ca, 'both have one authority')
  const served = await one.edge('e2')
  await until(() => served.count('lease') > 0)
  await one.program.stop()
  await until(() => turnedAway.count('lease') > 0)
  t.ok(served.count('disconnected') > 0)
})

t.test(
  'while the apiserver is away edges stay connected, get errors that say so, and go on afterwards',
  async t => {
    const cluster = await openCluster(t)
    const clock = new FakeClock()
    const bridge = await openBridge(t, cluster, {}, { clock })
    await until(async () => {
      await clock.advance(100)
      return bridge.isServing()
    })
    const { events, count, edge } = await bridge.edge('e1')
    const codes = () => events.flatMap(event => (event.kind === 'lease' ? [event.code] : []))
    /** The bridge asks about a node that is new no more than four times a second. */
    const later = (isSo: () => boolean): Promise<void> =>
      until(async () => {
        await clock.advance(100)
        return isSo()
      })
    await later(() => codes().includes(200))
    cluster.api.cutLink(bridge.user, 'refused')
    await until(() => codes().includes(503))
    for (let second = 0; second < 20; second++) await clock.advance(1_000)
    t.equal(await bridge.isServing(), false)
    const other = await bridge.edge('e2')
    await until(() => other.count('refused') > 0)
    cluster.api.healLink(bridge.user)
    const known = codes().length
    await later(() => codes().slice(known).includes(200))
    t.ok(await bridge.isServing())
    t.equal(count('connected'), 1)
    t.equal(count('panicked'), 0)
    t.equal(edge.view.isConnected, true)
    await later(() => other.count('lease') > 0)
  },
)
