// SPDX-License-Identifier: Apache-2.0
// What the simulated edge is held to is what real ones were recorded to do.
import t, { type Test } from 'tap'
import { Edge } from '../../../testkit/edge/edge.js'
import type { EdgeEvent, EdgeTimes } from '../../../testkit/edge/edge-part.js'
import { dialMemory } from '../../../testkit/edge/memory-link.js'
import { ScriptedCloud } from '../../../testkit/edge/scripted-cloud.js'
import { memoryStore, type EdgeStore } from '../../../testkit/edge/store.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

const LEASE = 'kube-node-lease/lease/e1'
const NODE = 'null/node/e1'

const begin = (
  t: Test,
  {
    store = memoryStore(),
    times = {},
    prepare = () => undefined,
  }: {
    store?: EdgeStore
    times?: Partial<EdgeTimes>
    prepare?: (cloud: ScriptedCloud) => void
  } = {},
) => {
  const clock = new FakeClock()
  const cloud = new ScriptedCloud(clock)
  prepare(cloud)
  const events: (EdgeEvent & { readonly at: number })[] = []
  const edge = new Edge(
    { node: 'e1', times },
    {
      ...{ clock, store, random: seededRandom(1), dial: dialMemory(cloud) },
      onEvent: event => events.push({ ...event, at: clock.now() }),
    },
  )
  const ended = edge.run()
  t.teardown(async () => {
    edge.kill()
    await clock.advance(0)
    await ended
    if (clock.waiting > 0) throw new Error(`${clock.waiting} timers are left of an edge that ended`)
  })
  const start = clock.now()
  const since = (came: readonly { readonly at: number }[]) => came.map(({ at }) => at - start)
  return { clock, cloud, edge, events, store, since }
}

const pod = (name: string, more: object = {}, meta: object = {}) => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name, namespace: 'default', uid: `uid-${name}`, ...meta },
  spec: { nodeName: 'e1', containers: [{ name: 'c', image: 'i' }], ...more },
})

t.test('the first frames: what they say, in which order and form', async t => {
  const { clock, cloud } = begin(t)
  await clock.advance(250)
  t.match(
    cloud.came.map(({ frame: { route, content } }) => [
      ...[route.source, route.group, route.operation, route.resource, content],
    ]),
    [
      ['websocket', 'resource', 'keepalive', 'node', 'ping'],
      ['twin', 'resource', 'get', 'membership/detail', /"group_id":"e1"/],
      ['edged', 'meta', 'query', LEASE, null],
      ['edgecontroller', 'resource', 'response', LEASE, 'OK'],
      ['edged', 'meta', 'insert', NODE, { metadata: { name: 'e1', creationTimestamp: null } }],
      ['edgecontroller', 'resource', 'response', NODE, 'OK'],
      ['edged', 'meta', 'patch', 'null/nodepatch/e1', '{}'],
    ],
  )
  t.equal(cloud.came.length, 7, 'the answer to a patch is not acknowledged')
  const [first] = cloud.came
  t.match(
    first!.text,
    /^\{"header":\{"msg_id":"[-0-9a-f]{36}","timestamp":\d{13}\},"route":\{"source":"websocket","group":"resource","operation":"keepalive","resource":"node"\},"content":"ping"\}\n$/,
  )
  t.notMatch(cloud.came.map(({ text }) => text).join(''), /"(sync|type)":(true|false|"")/)
})

t.test(
  'a Lease: asked for in vain, made once the Node is known, then renewed from what came back',
  async t => {
    const { clock, cloud, since } = begin(t)
    await clock.advance(45_000)
    t.strictSame(since(cloud.of('keepalive')), [0, 15_000, 30_000, 45_000])
    t.equal(cloud.of('query', LEASE).length, 2)
    const [insert] = cloud.of('insert', LEASE)
    t.match(insert!.frame.content, {
      metadata: { ownerReferences: [{ kind: 'Node', name: 'e1', uid: `uid-${NODE}` }] },
      spec: { holderIdentity: 'e1', leaseDurationSeconds: 40, renewTime: /\.\d{6}Z$/ },
    })
    const updates = cloud.of('update', LEASE)
    t.equal(updates.length, 3)
    const gaps = since(updates).map((at, i, all) => at - (all[i - 1] ?? since([insert!])[0]!))
    t.ok(
      gaps.every(gap => gap >= 10_000 && gap <= 10_310),
      gaps.join(' '),
    )
    t.match(
      updates.map(({ frame }) => frame.content),
      ['2', '3', '4'].map(resourceVersion => ({ metadata: { resourceVersion } })),
    )
  },
)

t.test('a conflict on the Lease makes it read and write again at once', async t => {
  const { clock, cloud, since } = begin(t)
  await clock.advance(15_000)
  cloud.put(LEASE, { metadata: { name: 'e1', resourceVersion: 'other' }, spec: {} })
  await clock.advance(10_000)
  const first = cloud.of('update', LEASE)[0]!
  const at = since([first])[0]!
  const next = cloud.came.filter(came => came.at > first.at && came.frame.route.resource === LEASE)
  t.match(
    next.filter(({ frame }) => frame.route.source === 'edged').map(({ frame }) => frame),
    [
      { route: { operation: 'query' } },
      { route: { operation: 'update' }, content: { metadata: { resourceVersion: 'other' } } },
    ],
  )
  t.ok(since(next).every(later => later - at < 30))
})

t.test('an edge that hears that it is not ready says within ten seconds that it is', async t => {
  const { clock, cloud, store } = begin(t)
  await clock.advance(60_000)
  t.equal(cloud.of('patch', 'null/nodepatch/e1').length, 1)
  const node = store.get(NODE) as { readonly metadata: object; readonly status: object }
  const conditions = [{ type: 'Ready', status: 'Unknown' }]
  cloud.push('update', NODE, { ...node, status: { ...node.status, conditions } })
  await clock.advance(10_000)
  const [, unasked] = cloud.of('patch', 'null/nodepatch/e1')
  t.match(unasked!.frame.content, /"type":"Ready","status":"True"/)
  cloud.push('update', NODE, node)
  await clock.advance(60_000)
  t.equal(cloud.of('patch', 'null/nodepatch/e1').length, 2)
})

t.test('an unanswered membership is repeated with its id, an answered one is not', async t => {
  const { clock, cloud } = begin(t)
  await clock.advance(125_000)
  const asked = cloud.of('get', 'membership/detail')
  t.equal(asked.length, 3)
  t.equal(new Set(asked.map(({ frame }) => frame.header.msg_id)).size, 1)
  cloud.script = ({ route }) => (route.operation === 'get' ? { content: [] } : 'default')
  await clock.advance(60_000)
  t.equal(cloud.of('get').length, 4)
  await clock.advance(300_000)
  t.equal(cloud.of('get').length, 4)
})

const empty: readonly [string, object][] = [
  ['an error that is none', { Object: null, Err: {} }],
  ['neither a Node nor an error', { Object: null, Err: null }],
]
for (const [what, content] of empty)
  t.test(`it panics on a registration that is answered with ${what}`, async t => {
    const { clock, cloud, edge, events } = begin(t, {
      prepare: cloud => {
        cloud.script = ({ route }) =>
          route.operation === 'insert' && route.resource === NODE ? { content } : 'default'
      },
    })
    await clock.advance(60_000)
    t.equal(events.at(-1)?.kind, 'panicked')
    t.ok(edge.view.isDead)
    const last = cloud.came.length
    await clock.advance(60_000)
    t.equal(cloud.came.length, last)
  })

t.test('a refused registration is tried again, ever more slowly', async t => {
  const { clock, cloud, since, events } = begin(t, {
    prepare: cloud => {
      const refused = { Object: null, Err: { ErrStatus: { status: 'Failure', code: 503 } } }
      cloud.script = ({ route }) =>
        route.operation === 'insert' && cloud.of('insert', NODE).length < 4
          ? { content: refused }
          : 'default'
    },
  })
  await clock.advance(5_000)
  t.strictSame(
    since(cloud.of('insert', NODE)).map(at => Math.round(at / 100)),
    [1, 3, 7, 15],
  )
  t.ok(events.some(({ kind }) => kind === 'registered'))
})

t.test(
  'a burst of 500: the oldest of 100 waiting are lost, acks leave at 30 per second, the Lease behind them',
  async t => {
    const { clock, cloud, edge, events } = begin(t)
    await clock.advance(29_000)
    const ids = Array.from({ length: 500 }, (_, i) =>
      cloud.push('insert', `default/configmap/c${i}`, { metadata: { name: `c${i}` } }),
    )
    await clock.advance(100)
    const sent = Array.from({ length: 50 }, (_, i) =>
      cloud.push('insert', `default/configmap/d${i}`, {}),
    )
    await clock.advance(30_000)
    const acked = new Set(cloud.of('response').map(({ frame }) => frame.header.parent_msg_id))
    t.equal(edge.view.dropped, 400, 'all came in one instant: 100 stay')
    t.notOk(
      ids.slice(0, 400).some(id => acked.has(id)),
      'the oldest are gone without a word',
    )
    t.ok(ids.slice(400).every(id => acked.has(id)) && sent.every(id => acked.has(id)))
    const times = cloud.of('response').filter(({ at }) => at >= 30_000)
    const [first] = times
    const after = times.filter(({ at }) => at > first!.at + 1_000 && at <= first!.at + 2_000).length
    t.ok(after >= 29 && after <= 31, `${after} acks in the second after the burst`)
    const leases = events.flatMap(event => (event.kind === 'lease' ? [event.ms] : []))
    t.ok(Math.max(...leases) > 1_000, `a Lease waited behind the acks: ${leases.join(' ')} ms`)
    t.equal([...ids, ...sent].filter(id => acked.has(id)).length, 150)
  },
)

t.test(
  'a broken connection is noticed at the next send, and dialled again 30 s later, five times',
  async t => {
    const { clock, cloud, edge, events, since } = begin(t)
    await clock.advance(21_000)
    cloud.cut()
    cloud.refuses = 'ECONNREFUSED'
    const dials = cloud.dials
    await clock.advance(3_000)
    t.ok(edge.view.isConnected, 'it has not noticed')
    const noticed = () => events.find(({ kind }) => kind === 'disconnected')
    await clock.advance(8_000)
    const at = noticed()!.at
    await clock.advance(at + 29_999 - clock.now())
    t.equal(cloud.dials, dials)
    await clock.advance(1)
    t.equal(cloud.dials, dials + 1)
    await clock.advance(20_000)
    t.equal(cloud.dials, dials + 5)
    await clock.advance(34_000)
    t.equal(cloud.dials, dials + 5)
    cloud.refuses = undefined
    const inserts = cloud.of('insert', NODE).length
    await clock.advance(9_000)
    t.ok(edge.view.isConnected)
    t.equal(cloud.of('insert', NODE).length, inserts, 'it does not register again')
    const renewed = since(cloud.of('update', LEASE)).at(-1)!
    t.ok(renewed > 100_000, 'the Lease is renewed soon after')
  },
)

t.test('control messages are answered by the transport, unknown ones by nobody', async t => {
  const { clock, cloud } = begin(t)
  await clock.advance(1_000)
  const ping = cloud.push('ping', 'node', null)
  const ignored = [
    cloud.push('publish', 'default/configmap/a', {}),
    cloud.push('insert', 'default/configmap/a', {}, 'other'),
    cloud.push('error', 'default/configmap/a', 'no'),
  ]
  const odd = cloud.push('insert', 'default/configmap/odd', 'a text')
  await clock.advance(1_000)
  const answers = new Map(
    cloud.of('response').map(({ frame }) => [frame.header.parent_msg_id, frame.content]),
  )
  t.equal(answers.get(ping), 'ack')
  t.equal(answers.get(odd), 'OK', 'what is no object is stored all the same')
  t.notOk(ignored.some(id => answers.has(id)))
})

const volumes = [
  { name: 'v', configMap: { name: 'cm' } },
  { name: 's', secret: { secretName: 's' } },
]
const CM = 'default/configmap/cm'

t.test('a pod: admitted, mounted, running, and gone when it is deleted', async t => {
  const { clock, cloud, edge, store } = begin(t, {
    prepare: cloud => {
      cloud.script = ({ route: { operation, resource = '' } }) =>
        operation === 'query' && resource.startsWith('default/')
          ? { content: { kind: 'X', metadata: { name: resource } } }
          : 'default'
    },
  })
  await clock.advance(1_000)
  cloud.push('insert', 'default/pod/web', pod('web', { volumes }))
  await clock.advance(2_000)
  t.match(edge.view.pods, { 'default/pod/web': { phase: 'Running', emptyMounts: [] } })
  const patches = cloud.of('patch', 'default/podpatch/web')
  t.match(
    patches.map(({ frame }) => JSON.parse(frame.content as string) as object),
    [
      { status: { phase: 'Pending' } },
      { metadata: { uid: 'uid-web' }, status: { phase: 'Running' } },
    ],
  )
  t.equal(cloud.of('query', CM).length, 1)
  cloud.push('insert', 'default/pod/two', pod('two', { volumes }))
  await clock.advance(2_000)
  t.equal(cloud.of('query', CM).length, 1, 'what is stored is not asked for again')
  cloud.push(
    'update',
    'default/pod/web',
    pod('web', { volumes }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  )
  await clock.advance(1_000)
  t.match(cloud.of('delete')[0]?.frame.content, {
    gracePeriodSeconds: 0,
    preconditions: { uid: 'uid-web' },
  })
  cloud.push('delete', 'default/pod/web', pod('web'))
  await clock.advance(100)
  t.strictSame(Object.keys(edge.view.pods), ['default/pod/two'])
  t.equal(store.get('default/pod/web'), undefined)
  cloud.push('insert', 'default/pod/two', pod('two', {}, { labels: { new: '' } }))
  await clock.advance(100)
  t.notMatch(store.get('default/pod/two'), { metadata: { labels: {} } }, 'an insert keeps the old')
  cloud.push('delete', 'default/pod/two', { metadata: { name: 'two', uid: 'uid-two' } })
  await clock.advance(100)
  t.strictSame(Object.keys(edge.view.pods), ['default/pod/two'], 'runs on: nobody said where')
})

t.test(
  'an answer that is an error status is stored: the pod runs with an empty volume',
  async t => {
    const { clock, cloud, edge } = begin(t, {
      prepare: cloud => {
        cloud.script = ({ route: { operation, resource = '' } }) =>
          operation === 'query' && resource.startsWith('default/')
            ? { content: { ErrStatus: { code: 404 } } }
            : 'default'
      },
    })
    await clock.advance(1_000)
    cloud.push('insert', 'default/pod/web', pod('web', { volumes }))
    await clock.advance(2_000)
    t.match(edge.view.pods['default/pod/web'], { phase: 'Running', emptyMounts: [CM, /secret/] })
  },
)

t.test(
  'an answer with the operation error is not stored: the mount is tried again, ever more slowly',
  async t => {
    const { clock, cloud, edge, since } = begin(t, {
      prepare: cloud => {
        cloud.script = ({ route: { resource } }) =>
          resource === CM ? { operation: 'error', content: 'not found' } : 'default'
      },
    })
    await clock.advance(1_000)
    cloud.push('insert', 'default/pod/web', pod('web', { volumes }))
    await clock.advance(9_000)
    const asked = since(cloud.of('query', CM))
    t.strictSame(
      asked.map((at, i) => Math.round((at - (asked[i - 1] ?? at)) / 100) / 10),
      [0, 0.5, 1, 2, 4],
    )
    t.match(edge.view.pods['default/pod/web'], { phase: 'Pending', waitsFor: CM })
    cloud.push('insert', CM, { metadata: { name: 'cm' } })
    cloud.push('insert', 'default/secret/s', { metadata: { name: 's' } })
    await clock.advance(20_000)
    t.match(edge.view.pods['default/pod/web'], { phase: 'Running', waitsFor: undefined })
  },
)

t.test(
  'after a restart without a connection pods start from the store, unless a list of pods poisoned it',
  async t => {
    const store = memoryStore()
    const first = begin(t, { store })
    await first.clock.advance(1_000)
    first.cloud.push('insert', 'default/pod/web', pod('web'))
    first.cloud.push('insert', 'default/pod/other', pod('other'))
    await first.clock.advance(1_000)
    first.edge.kill()
    const offline = (cloud: ScriptedCloud) => (cloud.refuses = 'ENETUNREACH')
    const second = begin(t, { store, prepare: offline })
    await second.clock.advance(2_000)
    t.match(second.edge.view, {
      pods: { 'default/pod/web': { phase: 'Running' } },
      isPoisoned: false,
    })
    t.equal(second.cloud.came.length, 0)
    second.cloud.refuses = undefined
    await second.clock.advance(60_000)
    t.equal(
      second.cloud.of('patch', 'default/podpatch/web').length,
      1,
      'the status that nobody took is sent when the connection is back',
    )
    second.cloud.push('response', 'default/pod', [pod('web')])
    await second.clock.advance(1_000)
    t.strictSame(Object.keys(second.edge.view.pods), ['default/pod/web'], 'orphans are ended')
    second.edge.kill()
    const third = begin(t, { store, prepare: offline })
    await third.clock.advance(2_000)
    t.match(third.edge.view, { pods: {}, isPoisoned: true })
  },
)
