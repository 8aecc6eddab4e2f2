// SPDX-License-Identifier: Apache-2.0
// Leases of nodes that the bridge does not hear: who renews them, for how long, and who never.
import t, { type Test } from 'tap'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { NodeName } from '../../../core/ids.js'
import type { Body } from '../../../testkit/edge/memory-cluster.js'
import { LEASES, NODES, nodeBody, Stage } from './memory-stage.js'

const E1 = 'e1' as NodeName
const OF = { namespace: 'kube-node-lease', name: 'e1' }

const leaseBody = (at: number): Body => ({
  metadata: { name: 'e1', namespace: 'kube-node-lease' },
  spec: {
    ...{ holderIdentity: 'e1', leaseDurationSeconds: 40 },
    renewTime: new Date(at).toISOString().replace('Z', '123Z'),
  },
})

const word = (status: 'True' | 'False', at: number): JsonMap => ({
  ...{ type: 'PeerHealth', status },
  lastHeartbeatTime: new Date(at).toISOString(),
})

/** A bridge that begins while an edge is not there, whose Lease is young. */
const begin = async (t: Test, vouch: 'grace' | 'off' | 'zone', ageMs = 5_000) => {
  const stage = new Stage(t)
  stage.cluster.put(NODES, nodeBody('e1'))
  stage.cluster.put(LEASES, leaseBody(stage.clock.wall() - ageMs))
  const bridge = await stage.start({ vouch })
  const lease = (): Body => stage.cluster.get(LEASES, OF)!
  const renewedAt = (): number => Date.parse(String(specOf(lease())['renewTime']))
  const writes = (): number =>
    stage.cluster.writes.filter(one => one === 'update leases kube-node-lease/e1').length
  /** The zone says so, every so often. */
  const say = (status: 'True' | 'False'): void => {
    const conditions = [word(status, stage.clock.wall())]
    stage.cluster.put(NODES, nodeBody('e1', { status: { conditions } }))
  }
  return { stage, bridge, lease, renewedAt, writes, say }
}

const specOf = (lease: Body): JsonMap => (isMap(lease['spec']) ? lease['spec'] : {})

t.test('while the zone says that a node lives its Lease is renewed, for two minutes', async t => {
  const { stage, renewedAt, writes, say } = await begin(t, 'zone')
  let longest = 0
  for (let second = 0; second < 200; second++) {
    if (second % 10 === 0) say('True')
    await stage.clock.advance(1_000)
    if (second < 120) longest = Math.max(longest, stage.clock.wall() - renewedAt())
    t.ok(renewedAt() <= stage.clock.wall(), 'never ahead of the apiserver')
  }
  t.ok(longest <= 12_000, `at most ${longest} ms old`)
  t.ok(writes() >= 11 && writes() <= 13, `${writes()} writes`)
  t.ok(stage.clock.wall() - renewedAt() >= 70_000, 'and then left alone')
  t.match(stage.bridge!.downstream.status, { vouching: { gaps: 0, ended: { 'too-long': 1 } } })
})

t.test('without a recent report of the zone no Lease is renewed', async t => {
  const { stage, writes, say } = await begin(t, 'zone')
  await stage.clock.advance(15_000)
  t.equal(writes(), 0)
  say('True')
  await stage.clock.advance(5_000)
  t.equal(writes(), 1, 'the word counts as soon as it is there')
  await stage.clock.advance(50_000)
  t.ok(writes() <= 4, `${writes()} writes: thirty seconds later it is old`)
  const before = writes()
  await stage.clock.advance(30_000)
  t.equal(writes(), before)
})

t.test('the Lease of a node that its peers report dead is not renewed', async t => {
  const { stage, writes, say } = await begin(t, 'grace')
  await stage.clock.advance(15_000)
  const before = writes()
  t.ok(before >= 1)
  say('False')
  await stage.clock.advance(60_000)
  t.equal(writes(), before)
  t.match(stage.bridge!.downstream.status, { vouching: { ended: { 'peers-say-dead': 1 } } })
})

t.test(
  'the first sign of life of the node ends the gap, and the node renews its Lease itself',
  async t => {
    const { stage, lease, writes } = await begin(t, 'grace')
    await stage.clock.advance(15_000)
    const before = writes()
    t.ok(before >= 1)
    t.match(lease().metadata, { annotations: { 'edge-health/bridge-renews-since': /Z$/ } })
    stage.edge('e1')
    await stage.clock.advance(60_000)
    t.ok(writes() <= before + 1, 'at the most it gets the time of that sign')
    t.match(stage.bridge!.downstream.status, { vouching: { gaps: 0, ended: { heard: 1 } } })
  },
)

t.test('no Lease runs out from the end of a bridge to the first renewal of its edges', async t => {
  const stage = new Stage(t)
  const nodes = Array.from({ length: 60 }, (_, i) => `e${i}`)
  for (const node of nodes) stage.cluster.put(NODES, nodeBody(node))
  const first = await stage.start({ vouch: 'grace' })
  for (const node of nodes) {
    stage.edge(node)
    await stage.clock.advance(200)
  }
  await stage.clock.advance(20_000)
  await first.stop(false)
  await stage.start({ vouch: 'grace' })
  let oldest = 0
  for (let second = 0; second < 120; second++) {
    await stage.clock.advance(1_000)
    for (const lease of stage.cluster.all(LEASES)) {
      const renewedAt = Date.parse(String(specOf(lease)['renewTime']))
      oldest = Math.max(oldest, stage.clock.wall() - renewedAt)
    }
  }
  // The grace is 40 s: who comes back and waits for a lost answer must not be at its end.
  t.ok(oldest < 35_000, `the oldest was ${Math.round(oldest)} ms old`)
  t.match(stage.bridge!.downstream.status, { vouching: { gaps: 0, ended: { heard: 60 } } })
})

t.test('a Lease that had expired, or that somebody else renews, is left alone', async t => {
  const old = await begin(t, 'grace', 60_000)
  await old.stage.clock.advance(30_000)
  t.equal(old.writes(), 0)
  t.match(old.stage.bridge!.downstream.status, { vouching: { ended: { 'lease-was-old': 1 } } })

  const moved = await begin(t, 'grace')
  await moved.stage.clock.advance(8_000)
  const before = moved.writes()
  moved.stage.cluster.put(LEASES, leaseBody(moved.stage.clock.wall()))
  await moved.stage.clock.advance(60_000)
  t.equal(moved.writes(), before)
  t.match(moved.stage.bridge!.downstream.status, { vouching: { ended: { 'lease-moved': 1 } } })
})

t.test('a renewal by the node from right before the disconnect does not end the gap', async t => {
  const { stage, bridge, renewedAt } = await begin(t, 'grace')
  await stage.clock.advance(2_000)
  const lease = stage.cluster.put(LEASES, leaseBody(stage.clock.wall()))
  bridge.downstream.leaseSeen(E1, lease)
  await stage.clock.advance(30_000)
  t.ok(stage.clock.wall() - renewedAt() <= 12_000)
})

t.test('a second restart does not extend the two minutes', async t => {
  const { stage, bridge, renewedAt } = await begin(t, 'grace')
  await stage.clock.advance(100_000)
  await bridge.stop()
  await stage.start({ vouch: 'grace' })
  await stage.clock.advance(60_000)
  t.ok(stage.clock.wall() - renewedAt() >= 35_000)
})

t.test('a bridge that no longer leads renews nothing', async t => {
  const { stage, bridge, writes } = await begin(t, 'grace')
  await bridge.stop(false)
  await stage.clock.advance(60_000)
  t.equal(writes(), 0)
  const quiet = await begin(t, 'off')
  await quiet.stage.clock.advance(60_000)
  t.equal(quiet.writes(), 0)
})
