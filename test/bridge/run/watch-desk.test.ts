// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { NodeLink } from '../../../bridge/hub/node-link.js'
import type { Listing, Target } from '../../../bridge/model/application/application.js'
import type { Message } from '../../../bridge/model/message/message.js'
import { MAX_WATCHES, WatchDesk } from '../../../bridge/run/agents/watch-desk.js'
import { objectsOf } from '../../../bridge/run/upstream/objects.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import { valueAt } from '../../../core/json-at.js'
import { MemoryCluster } from '../../../testkit/edge/memory-cluster.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'

const NODES = objectsOf('node')
const MAPS = objectsOf('configmap')
const nodes: Target = { group: '', version: 'v1', resource: 'nodes', namespace: '', name: '' }
const map = (name: string): Target => ({
  ...nodes,
  ...{ resource: 'configmaps', namespace: 'edge-system', name },
})
const listing = (labelSelector = '', resourceVersion = ''): Listing => ({
  ...{ labelSelector, resourceVersion, fieldSelector: '', limit: 0, next: '' },
})
const node = (name: string, zone = 'a', more: JsonMap = {}) => ({
  ...{ metadata: { name, labels: { zone } }, status: {} },
  ...more,
})
const E1 = 'e1' as NodeName

const open = () => {
  const clock = new FakeClock()
  const cluster = new MemoryCluster()
  const away = new Set<string>()
  const mayWatch = (of: NodeName): boolean => !away.has(of)
  const desk = new WatchDesk({ client: cluster.client, clock, log: recordingLog(), mayWatch })
  const connect = (name = 'e1') => {
    const sent: Message[] = []
    const state = { isHeld: false, isOver: false }
    const link: NodeLink = {
      ...{ node: name as NodeName, remote: '10.0.0.1', since: 0, isBehind: false },
      get isHeld() {
        return state.isHeld
      },
      hold: () => undefined,
      release: () => undefined,
      send: message => {
        if (!state.isOver) sent.push(message)
        return !state.isOver
      },
    }
    desk.connected(link)
    const words = () =>
      sent
        .splice(0)
        .map(({ operation, resource, resourceVersion = '' }) =>
          [operation, resource, resourceVersion].join(' '),
        )
    const acknowledge = (messages: readonly Message[] = sent) => {
      for (const { id } of messages)
        desk.acknowledged(link, { parentId: id } as Message)
    }
    return { acknowledge, link, sent, state, words }
  }
  return { away, clock, cluster, connect, desk }
} // prettier-ignore

t.test('a node is sent what its watch selects, as it changes', async t => {
  const { clock, cluster, connect, desk } = open()
  cluster.put(NODES, node('e2'))
  cluster.put(NODES, node('e3', 'b'))
  const { acknowledge, sent, words } = connect()
  t.equal(desk.add(E1, 'w', nodes, listing('zone=a')), undefined)
  await clock.advance(20)
  t.strictSame(sent.map(({ content }) => valueAt(content, 'kind')), ['Node']) // prettier-ignore
  acknowledge()
  t.strictSame(words(), ['update null/node/e2 101'])
  cluster.put(NODES, node('e2', 'a', { spec: { taints: [] } }))
  cluster.put(NODES, node('e3', 'b', { spec: { taints: [] } }))
  cluster.put(NODES, node('e1'))
  await clock.advance(20)
  acknowledge()
  t.strictSame(words(), ['update null/node/e2 103'], 'its own Node it is told of otherwise')
  cluster.put(NODES, node('e2', 'a', { spec: { taints: [] }, status: { images: [] } }))
  await clock.advance(20)
  t.strictSame(words(), [], 'what agents do not read is no news')
  cluster.put(NODES, node('e2', 'b'))
  await clock.advance(20)
  acknowledge()
  t.strictSame(words(), ['delete null/node/e2 107'], 'it is none of the zone now')
  cluster.put(NODES, node('e4'))
  await clock.advance(20)
  acknowledge()
  words()
  cluster.delete(NODES, { name: 'e4' })
  await clock.advance(20)
  const gone = { name: 'e4', resourceVersion: '109', labels: { zone: 'a' } }
  t.match(sent, [{ content: { kind: 'Node', metadata: gone } }])
  t.strictSame(words(), ['delete null/node/e4 109'], 'its end is newer than it was')
})

t.test('a change between a list and its watch is sent', async t => {
  const { clock, cluster, connect, desk } = open()
  const one = connect('e9')
  desk.add('e9' as NodeName, 'w', nodes, listing())
  await clock.advance(20)
  for (const name of ['e2', 'e3', 'e4']) cluster.put(NODES, node(name))
  cluster.delete(NODES, { name: 'e4' })
  await clock.advance(20)
  one.acknowledge()
  const { words } = connect()
  desk.add(E1, 'w', nodes, listing('', '101'))
  await clock.advance(20)
  t.strictSame(words(), ['update null/node/e3 102', 'delete null/node/e4 104'])
  const { words: late } = connect()
  desk.add(E1, 'w', nodes, listing('', '104'))
  await clock.advance(20)
  t.strictSame(late(), [])
})

t.test('what leaves a zone while an edge is away', async t => {
  const { clock, cluster, connect, desk } = open()
  connect('e9')
  desk.add('e9' as NodeName, 'w', nodes, listing('zone=z'))
  for (const name of ['e2', 'e3', 'e4', 'e5']) cluster.put(NODES, node(name))
  cluster.put(NODES, node('e6', 'b'))
  await clock.advance(20)
  cluster.delete(NODES, { name: 'e2' })
  for (const zone of ['b', 'c', 'd', 'e']) cluster.put(NODES, node('e3', zone))
  for (const zone of ['b', 'a']) cluster.put(NODES, node('e4', zone))
  cluster.put(NODES, node('e6', 'c'))
  await clock.advance(20)
  const { acknowledge, sent, words } = connect()
  desk.add(E1, 'w', nodes, listing('zone=a', '105'))
  await clock.advance(20)
  acknowledge()
  t.strictSame(
    sent.map(({ content }) => valueAt(content, 'metadata', 'labels')),
    [{ zone: 'a' }, { zone: 'a' }, { zone: 'a' }],
    'with the labels by which its watch knows them',
  )
  t.strictSame(words(), [
    'update null/node/e4 112',
    'delete null/node/e2 113',
    'delete null/node/e3 113',
  ])
  cluster.put(NODES, node('e3', 'a'))
  await clock.advance(20)
  t.strictSame(words(), ['update null/node/e3 114'])
})

t.test('an edge is told twice of what ended before it may have opened its watch', async t => {
  const { clock, cluster, connect, desk } = open()
  connect('e9')
  desk.add('e9' as NodeName, 'w', nodes, listing('zone=z'))
  for (const name of ['e2', 'e3']) cluster.put(NODES, node(name))
  await clock.advance(20)
  cluster.delete(NODES, { name: 'e2' })
  const { acknowledge, words } = connect()
  desk.add(E1, 'w', nodes, listing('zone=a', '102'))
  for (const ms of [20, 3_020]) {
    await clock.advance(ms)
    acknowledge()
    t.strictSame(words(), ['delete null/node/e2 103'])
  }
  await clock.advance(60_000)
  t.strictSame(words(), [])
  cluster.delete(NODES, { name: 'e3' })
  await clock.advance(20)
  acknowledge()
  await clock.advance(60_000)
  t.strictSame(words(), ['delete null/node/e3 104'])
})

t.test('a Node that leaves the selection of one watch and not of another', async t => {
  const { clock, cluster, connect, desk } = open()
  for (const name of ['e2', 'e3']) cluster.put(NODES, node(name))
  const { acknowledge, sent, words } = connect()
  desk.add(E1, 'zone', nodes, listing('zone=a', '102'))
  desk.add(E1, 'named', { ...nodes, name: 'e2' }, listing('', '102'))
  desk.add(E1, 'other', nodes, listing('zone=b', '102'))
  await clock.advance(20)
  acknowledge()
  words()
  cluster.put(NODES, node('e2', 'b'))
  await clock.advance(20)
  const zones = () => sent.map(({ content }) => valueAt(content, 'metadata', 'labels', 'zone'))
  t.strictSame(zones(), ['a', 'b'], 'first as the zone knows it, so that it sees it leave')
  t.strictSame(words(), ['update null/node/e2 101', 'update null/node/e2 103'])
  await clock.advance(10_000)
  t.strictSame(zones(), ['a', 'b'], 'again when the edge may have missed it')
  acknowledge()
  words()
  cluster.put(NODES, node('e2', 'b', { spec: { taints: [] } }))
  await clock.advance(20)
  acknowledge()
  t.strictSame(words(), ['update null/node/e2 104'], 'and once it has it, no more')
  cluster.put(NODES, node('e2', 'a'))
  cluster.delete(NODES, { name: 'e2' })
  await clock.advance(20)
  t.strictSame(zones(), ['a', 'b'], 'a deletion is told to each by the labels that it knows')
  acknowledge()
  t.strictSame(words(), ['delete null/node/e2 106', 'delete null/node/e2 106'])
})

t.test('an object of a name', async t => {
  const { clock, cluster, connect, desk } = open()
  cluster.put(MAPS, { metadata: { name: 'zones', namespace: 'edge-system' }, data: { a: '1' } })
  cluster.put(MAPS, { metadata: { name: 'other', namespace: 'edge-system' } })
  const { acknowledge, sent, words } = connect()
  desk.add(E1, 'w', map('zones'), listing())
  desk.add(E1, 'own', { ...nodes, name: 'e1' }, listing())
  desk.add(E1, 'other', { ...nodes, name: 'e2' }, listing())
  cluster.put(NODES, node('e1'))
  cluster.put(NODES, node('e3'))
  await clock.advance(20)
  t.match(sent, [{ content: { kind: 'ConfigMap', data: { a: '1' } } }])
  acknowledge()
  t.strictSame(words(), ['update edge-system/configmap/zones 101'])
  cluster.put(NODES, node('e2'))
  await clock.advance(20)
  t.strictSame(words(), ['update null/node/e2 105'])
  t.equal(desk.status.watches, 3)
})

t.test(
  'few messages are in flight; an object is queued once and sent in its latest state',
  async t => {
    const { clock, cluster, connect, desk } = open()
    const { acknowledge, link, sent, state, words } = connect()
    desk.add(E1, 'w', nodes, listing())
    for (let i = 2; i < 12; i++) cluster.put(NODES, node(`e${i}`))
    await clock.advance(20)
    t.equal(sent.length, 4)
    t.equal(desk.status.waiting, 6)
    for (let round = 0; round < 100; round++) cluster.put(NODES, node('e2', `z${round}`))
    await clock.advance(1_000)
    t.equal(sent.length, 4, 'nothing more without an acknowledgement')
    t.equal(desk.status.waiting, 7)
    acknowledge(sent.splice(0))
    await clock.advance(20)
    acknowledge(sent.splice(0))
    await clock.advance(20)
    t.strictSame(words().filter(word => word.includes('/e2 ')), ['update null/node/e2 210']) // prettier-ignore
    await clock.advance(10_000)
    t.equal(sent.length, 3, 'what is not acknowledged is told again')
    state.isHeld = true
    cluster.put(NODES, node('e9', 'x'))
    acknowledge(sent.splice(0))
    await clock.advance(5_000)
    t.equal(sent.length, 0, 'a node that is not read is told nothing')
    state.isHeld = false
    await clock.advance(500)
    acknowledge()
    t.strictSame(words(), ['update null/node/e9 211'])
    cluster.put(NODES, node('e9', 'y'))
    state.isOver = true
    await clock.advance(20)
    desk.ended(link)
    cluster.put(NODES, node('e9', 'z'))
    await clock.advance(60_000)
    t.strictSame(desk.status, { watches: 0, waiting: 0, objects: 10 })
  },
)

t.test(
  'watches end with their connection or when their node ends them, and are limited in number',
  async t => {
    const { clock, cluster, connect, desk } = open()
    t.match(desk.add(E1, 'w', nodes, listing()), { status: 503 })
    const first = connect()
    desk.add(E1, 'w', nodes, listing())
    t.ok(desk.has(E1, 'w'))
    t.equal(desk.add(E1, 'w', nodes, listing()), undefined, 'one of that name is enough')
    const second = connect()
    t.notOk(desk.has(E1, 'w'))
    desk.ended(first.link)
    for (let i = 0; i < MAX_WATCHES; i++)
      t.equal(desk.add(E1, `w${i}`, nodes, listing()), undefined)
    t.equal(desk.add(E1, 'more', nodes, listing()), undefined)
    t.notOk(desk.has(E1, 'w0'), 'the oldest gives way')
    t.equal(desk.status.watches, MAX_WATCHES)
    desk.keepOnly(E1, new Set(['w1']))
    t.equal(desk.status.watches, 1)
    cluster.put(NODES, node('e2'))
    await clock.advance(20)
    t.equal(second.sent.length, 1, 'each object once, whatever watches it')
    t.equal(first.sent.length, 0)
    desk.acknowledged(second.link, { parentId: undefined } as Message)
    await desk.stop()
    cluster.put(NODES, node('e3'))
    await clock.advance(20)
    t.equal(second.sent.length, 1)
  },
)

t.test('a node whose agent was taken away is sent nothing more, and all of it when it has one again', async t => {
  const { away, clock, cluster, connect, desk } = open()
  const keys = map('edge-health-keys')
  cluster.put(MAPS, { metadata: { name: 'edge-health-keys', namespace: 'edge-system' }, data: { a: 'old' } })
  const { acknowledge, sent, words } = connect()
  const other = connect('e2')
  for (const of of ['e1', 'e2']) t.equal(desk.add(of as NodeName, 'w', keys, listing()), undefined)
  await clock.advance(20)
  acknowledge()
  t.equal(words().length, 1)
  other.acknowledge()
  t.equal(other.words().length, 1)
  away.add('e1')
  for (const a of ['new', 'newer'])
    cluster.put(MAPS, { metadata: { name: 'edge-health-keys', namespace: 'edge-system' }, data: { a } })
  await clock.advance(3_600_000)
  t.strictSame(words(), [], 'what changes is not for it')
  t.equal(other.words().length > 0, true, 'others are told')
  t.match(desk.status, { watches: 2, waiting: 1 })
  away.delete('e1')
  await clock.advance(30_000)
  t.match(valueAt(sent.at(-1)?.content, 'data'), { a: 'newer' })
}) // prettier-ignore
