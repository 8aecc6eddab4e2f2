// SPDX-License-Identifier: Apache-2.0
// The rows of the table that was measured against kube-controller-manager 1.36.3 with a grace of 5 s.
import t from 'tap'
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { makeApiClient } from '../../sandbox/api-client.js'
import { startApi } from '../../sandbox/api/server.js'
import { startLifecycle } from '../../sandbox/lifecycle.js'
import { observe, silentConditions, withNoSchedule } from '../../sandbox/lifecycle-rules.js'
import {
  apiMicroTime,
  apiTime,
  conditionsOf,
  LEASES,
  type NodeObject,
  NODES,
  readyOf,
  taintsOf,
} from '../../sandbox/node-object.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { memoryApi } from './memory-api.js'
import { recordingLog } from '../../testkit/recording-log.js'

const never = new AbortController().signal
const NS = 'node.kubernetes.io/unreachable:NoSchedule'
const NE = 'node.kubernetes.io/unreachable:NoExecute'

interface Tap {
  teardown(end: () => unknown): void
}

/** A cluster of bare Nodes whose heartbeats the test gives. */
const cluster = async (test: Tap, names: readonly string[], zones: readonly string[] = []) => {
  const clock = new FakeClock()
  const { client, store, seen } = memoryApi(clock)
  const renewing = new Set<string>()
  const renew = async (name: string): Promise<void> => {
    const spec = { holderIdentity: 'somebody', renewTime: apiMicroTime(clock.wall()) }
    await client.patch(`${LEASES}/${name}`, 'merge', { spec }, never)
  }
  const ready = (name: string, status = 'True', hasHeartbeat = true) =>
    client.patch(
      `${NODES}/${name}/status`,
      'strategic-merge',
      {
        status: {
          conditions: [
            {
              type: 'Ready',
              status,
              reason: 'Posted',
              ...(hasHeartbeat ? { lastHeartbeatTime: apiTime(clock.wall()) } : {}),
            },
          ],
        },
      },
      never,
    )
  const lifecycle = startLifecycle(
    { monitorPeriodMs: 1_000, graceMs: 5_000, startupGraceMs: 10_000, evictionPeriodMs: 100 },
    { api: client, clock, log: silentLog },
  )
  test.teardown(() => lifecycle.stop())
  for (const [i, name] of names.entries()) {
    const labels = zones[i] === undefined ? {} : { 'topology.kubernetes.io/zone': zones[i] }
    await client.post(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }, never)
    const metadata = { name, namespace: 'kube-node-lease' }
    await client.post(
      LEASES,
      { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata },
      never,
    )
  }
  const node = (name: string) => store.get('nodes', undefined, name) as unknown as NodeObject
  const taints = (name: string) =>
    taintsOf(node(name))
      .map(taint => `${taint.key}:${taint.effect}`)
      .sort()
  /** Let time pass with renewals each second. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 1_000) {
      for (const name of renewing) await renew(name)
      await clock.advance(Math.min(1_000, left))
      await settle()
    }
  }
  return { clock, client, node, taints, ready, renew, renewing, pass, seen, lifecycle }
}
const statusOf = (node: NodeObject) => readyOf(node)?.status

t.test('a silent node', async t => {
  const c = await cluster(t, ['a', 'b'])
  c.renewing.add('a').add('b')
  await c.pass(1_000)
  t.strictSame(c.taints('a'), [], 'a Node that never said "not ready" loses what admission gave it')
  await c.ready('a')
  await c.ready('b')
  await c.pass(10_000)
  t.equal(statusOf(c.node('a')), 'True', 'renewals by somebody else keep it Ready')
  const posted = conditionsOf(c.node('a')).length

  c.renewing.delete('a')
  await c.pass(4_000)
  t.equal(statusOf(c.node('a')), 'True', 'the grace is not over')
  await c.pass(3_000)
  t.match(readyOf(c.node('a')), {
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
  })
  t.equal(conditionsOf(c.node('a')).length, posted + 3, 'three pressures are Unknown with it')
  t.strictSame(c.taints('a'), [NE, NS].sort(), 'both unreachable taints')
  t.ok(
    taintsOf(c.node('a')).every(taint => taint.timeAdded !== undefined),
    'with the time',
  )
  t.strictSame(c.taints('b'), [], 'the other node is left alone')

  const remove = (effect: string) =>
    c.client.patch(
      `${NODES}/a`,
      'merge',
      { spec: { taints: taintsOf(c.node('a')).filter(taint => taint.effect !== effect) } },
      never,
    )
  await remove('NoSchedule')
  await settle()
  t.ok(c.taints('a').includes(NS), 'a removed NoSchedule is back at once')
  await remove('NoExecute')
  await settle()
  t.notOk(c.taints('a').includes(NE))
  await c.pass(1_200)
  t.ok(c.taints('a').includes(NE), 'a removed NoExecute is back after the next round')

  c.renewing.add('a')
  await c.pass(8_000)
  t.equal(statusOf(c.node('a')), 'Unknown', 'a Lease alone does not bring Ready back')

  await c.ready('a')
  await settle()
  t.strictSame(c.taints('a'), [NE], 'Ready=True takes NoSchedule at once')
  await c.pass(1_000)
  t.strictSame(c.taints('a'), [], 'and NoExecute within a round')
  await c.pass(15_000)
  t.equal(statusOf(c.node('a')), 'True', 'after that the Lease alone keeps it')
})

t.test('Ready=True patched by somebody else', async t => {
  const c = await cluster(t, ['a', 'b'])
  c.renewing.add('b')
  await c.ready('a')
  await c.ready('b')
  await c.pass(8_000)
  t.equal(statusOf(c.node('a')), 'Unknown')
  await c.ready('a', 'True', false)
  await c.pass(1_500)
  t.equal(statusOf(c.node('a')), 'Unknown', 'without heartbeat and Lease it is undone')
  await c.ready('a')
  await c.pass(4_000)
  t.equal(statusOf(c.node('a')), 'True', 'with a heartbeat it counts as one')
  await c.pass(3_000)
  t.equal(statusOf(c.node('a')), 'Unknown', 'but only once')
  c.renewing.add('a')
  await c.pass(1_500)
  await c.ready('a', 'True', false)
  await c.pass(15_000)
  t.equal(statusOf(c.node('a')), 'True', 'with a Lease that others renew it stays')
  t.strictSame(c.taints('a'), [])
})

t.test('when nobody is Ready evictions stop', async t => {
  const c = await cluster(t, ['a', 'b', 'c'])
  for (const name of ['a', 'b', 'c']) await c.ready(name)
  c.renewing.add('b').add('c')
  await c.pass(8_000)
  t.strictSame(c.taints('a'), [NE, NS].sort(), 'one silent node is evicted')
  c.renewing.clear()
  await c.pass(9_000)
  for (const name of ['a', 'b', 'c']) t.strictSame(c.taints(name), [NS], `${name}: no eviction`)
  c.renewing.add('c')
  await c.ready('c')
  await c.pass(2_000)
  t.strictSame(c.taints('c'), [])
  t.strictSame(c.taints('a'), [NE, NS].sort(), 'with one Ready node evictions go on')
  t.strictSame(c.taints('b'), [NE, NS].sort())
})

t.test('a failure domain of its own is not the whole cluster', async t => {
  const c = await cluster(t, ['a', 'b'], ['x', 'y'])
  await c.ready('a')
  await c.ready('b')
  c.renewing.add('b')
  await c.pass(8_000)
  t.strictSame(c.taints('a'), [NE, NS].sort())
})

t.test('a kubelet that says no', async t => {
  const c = await cluster(t, ['a', 'b'])
  c.renewing.add('a').add('b')
  await c.ready('b')
  await c.ready('a', 'False')
  await c.pass(2_000)
  const notReady = ['NoExecute', 'NoSchedule'].map(
    effect => `node.kubernetes.io/not-ready:${effect}`,
  )
  t.strictSame(c.taints('a'), notReady)
  c.renewing.delete('a')
  await c.pass(8_000)
  t.strictSame(c.taints('a'), [NE, NS].sort(), 'silence swaps the taints')
  await c.client.get(`${NODES}/a`, never)
  t.equal(statusOf(c.node('a')), 'Unknown')
})

t.test('a Node that never says anything', async t => {
  const c = await cluster(t, ['a', 'b', 'c'])
  c.renewing.add('b').add('c')
  await c.ready('b')
  await c.pass(9_000)
  t.equal(statusOf(c.node('a')), undefined, 'the startup grace is longer')
  await c.pass(4_000)
  t.match(readyOf(c.node('a')), { status: 'Unknown', reason: 'NodeStatusNeverUpdated' })
  t.equal(statusOf(c.node('c')), undefined, 'with a Lease it is believed to live')
})

t.test('others write at the same time', async t => {
  const c = await cluster(t, ['a', 'b'])
  c.renewing.add('b')
  await c.ready('a')
  await c.ready('b')
  await c.pass(8_000)
  const own = { key: 'own', effect: 'NoSchedule' as const }
  await c.client.patch(
    `${NODES}/a`,
    'merge',
    { spec: { taints: [...taintsOf(c.node('a')), own] } },
    never,
  )
  await c.ready('a')
  c.renewing.add('a')
  await c.pass(2_000)
  t.strictSame(c.taints('a'), ['own:NoSchedule'], 'taints of others are kept')
  await c.lifecycle.stop()
  c.renewing.clear()
  const before = c.seen.filter(call => call.path.startsWith(NODES)).length
  await c.pass(20_000)
  t.equal(
    c.seen.filter(call => call.path.startsWith(NODES)).length,
    before,
    'a stopped controller writes nothing',
  )
})

t.test('rules', async t => {
  const base = { metadata: { name: 'a', resourceVersion: '1' } }
  const of = (conditions: object[], extra: object = {}): NodeObject =>
    ({ ...base, spec: extra, status: { conditions } }) as unknown as NodeObject
  const first = observe(undefined, { ready: undefined, renewTime: '2026-01-01T00:00:05Z' }, 10)
  t.equal(first.probeAt, 10)
  const older = observe(first, { ready: undefined, renewTime: '2026-01-01T00:00:04Z' }, 20)
  t.equal(older.probeAt, 10, 'FA8: a Lease that goes back is no heartbeat')
  const between = observe(older, { ready: undefined, renewTime: '2026-01-01T00:00:04.5Z' }, 30)
  t.equal(
    between.probeAt,
    10,
    'FA8: nor is one that grows, until it is past the latest that was seen',
  )
  const later = observe(between, { ready: undefined, renewTime: '2026-01-01T00:00:06Z' }, 40)
  t.equal(later.probeAt, 40)
  const rows: [why: string, node: NodeObject, want: string[]][] = [
    ['memory is short', of([{ type: 'MemoryPressure', status: 'True' }]), ['memory-pressure']],
    ['disk is not', of([{ type: 'DiskPressure', status: 'False' }]), []],
    ['cordoned', of([], { unschedulable: true }), ['unschedulable']],
    ['Unknown', of([{ type: 'Ready', status: 'Unknown' }]), ['unreachable']],
  ]
  for (const [why, node, want] of rows) {
    const keys = (withNoSchedule(node, 0) ?? []).map(taint => taint.key.split('/')[1])
    t.strictSame(keys, want, why)
  }
  const again = of([
    { type: 'Ready', status: 'Unknown', reason: 'mine' },
    { type: 'Own', status: 'True' },
  ])
  t.match(
    silentConditions(again, 0).find(condition => condition.type === 'Ready'),
    { reason: 'mine' },
    'what is Unknown already stays as it is',
  )
  t.match(
    silentConditions(again, 0).find(condition => condition.type === 'Own'),
    { status: 'True' },
    'conditions of others are not judged',
  )
})

t.test('over real sockets, with a broken watch between', async t => {
  const api = await startApi({ host: '127.0.0.1', port: 0, clock: systemClock, log: silentLog })
  const log = recordingLog()
  const client = (name: string) =>
    makeApiClient({ server: api.url, token: api.addClient(name) }, systemClock, log)
  const [own, admin] = [client('controller'), client('admin')]
  const lifecycle = startLifecycle(
    { monitorPeriodMs: 30, graceMs: 300, startupGraceMs: 600, evictionPeriodMs: 10 },
    { api: own, clock: systemClock, log },
  )
  t.teardown(async () => {
    await lifecycle.stop()
    await Promise.all([own.close(), admin.close()])
    await api.stop()
  })
  const make = (name: string) =>
    admin.post(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name } }, never)
  const post = (name: string) =>
    admin.patch(
      `${NODES}/${name}/status`,
      'strategic-merge',
      {
        status: {
          conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: apiTime(Date.now()) }],
        },
      },
      never,
    )
  const changed = (name: string, holds: (node: NodeObject) => boolean) =>
    new Promise<void>(resolve => {
      const look = (): void => {
        const node = api.store.get('nodes', undefined, name) as unknown as NodeObject | undefined
        if (node === undefined || !holds(node)) return
        end()
        resolve()
      }
      const end = api.store.subscribe('nodes', () => setImmediate(look))
      look()
    })
  await make('a')
  await make('b')
  await post('a')
  const isEvicted = (node: NodeObject) => taintsOf(node).some(taint => taint.effect === 'NoExecute')
  // The heartbeat has whole seconds; this keeps b alive by a Lease of its own.
  const leasePath = `${LEASES}/b`
  await admin.post(
    LEASES,
    {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'b', namespace: 'kube-node-lease' },
    },
    never,
  )
  await post('b')
  const timer = setInterval(
    () =>
      void admin.patch(
        leasePath,
        'merge',
        { spec: { renewTime: apiMicroTime(Date.now()) } },
        never,
      ),
    20,
  )
  await changed('a', isEvicted)
  t.pass('a silent node is evicted')
  api.cutLink('controller', 'refused')
  api.healLink('controller')
  await changed('a', isEvicted)
  await admin.patch(
    `${NODES}/a`,
    'merge',
    { metadata: { labels: { seen: 'after-the-break' } } },
    never,
  )
  clearInterval(timer)
  await changed('b', node => readyOf(node)?.status === 'Unknown')
  t.ok(
    log.lines.some(line => line.message === 'watch trouble'),
    'the break was noticed, and survived',
  )
})
