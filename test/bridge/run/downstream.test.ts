// SPDX-License-Identifier: Apache-2.0
// What edges are told, in virtual time: simulated edges, a cluster in memory, and connections that are cut.
import t from 'tap'
import { valueAt } from '../../../core/json-at.js'
import { MAPS, mapBody, MemoryDisk, NODES, nodeBody, podBody, PODS, Stage } from './memory-stage.js'

const MINUTE = 60_000

t.test(
  'a pod that is bound to an edge runs there, and what it refers to comes with it',
  async t => {
    const stage = new Stage(t)
    const disk = new MemoryDisk()
    await stage.start({ disk })
    stage.cluster.put(MAPS, mapBody('prices', '1'))
    const edge = stage.edge('e1')
    await stage.clock.advance(5_000)
    stage.cluster.put(PODS, podBody('web', 'e1', { map: 'prices' }))
    await stage.clock.advance(5_000)
    t.equal(edge.view.pods['till/pod/web']?.phase, 'Running')
    t.equal(valueAt(stage.kept('e1', 'configmap').get('prices'), 'data', 'key'), '1')
    t.match(disk.files.get('e1'), / till web /, 'that it is there is on disk')
    t.match(disk.files.get('e1'), / till prices /)
    t.match(stage.bridge!.downstream.explain('e1' as never), {
      sending: { waiting: 0, unacknowledged: 0, aside: [] },
      holds: { node: 1, pod: 1, configmap: 1, unsure: 0 },
    })
    t.equal(stage.sentTo('e1', 'till/pod/web').length, 1, 'its own status is not told to it')
    t.strictSame(
      valueAt(stage.kept('e1', 'pod').get('web'), 'metadata', 'managedFields'),
      undefined,
      'nor what no edge needs',
    )
  },
)

t.test('a changed ConfigMap is sent only to the nodes that refer to it', async t => {
  const stage = new Stage(t)
  await stage.start()
  stage.cluster.put(MAPS, mapBody('prices', '1'))
  stage.edge('e1')
  stage.edge('e2')
  await stage.clock.advance(5_000)
  stage.cluster.put(PODS, podBody('web', 'e1', { map: 'prices' }))
  stage.cluster.put(PODS, podBody('other', 'e2'))
  await stage.clock.advance(5_000)
  stage.cluster.put(MAPS, mapBody('prices', '2'))
  await stage.clock.advance(5_000)
  t.equal(valueAt(stage.kept('e1', 'configmap').get('prices'), 'data', 'key'), '2')
  t.strictSame(stage.sentTo('e2', 'till/configmap/prices'), [])
  stage.cluster.delete(PODS, { namespace: 'till', name: 'web' })
  await stage.clock.advance(5_000)
  t.equal(stage.kept('e1', 'pod').size, 0, 'a pod that is gone is gone there')
  t.equal(stage.kept('e1', 'configmap').size, 0, 'and what nobody needs any more')
})

t.test(
  'a bridge that begins anew with its record sends what differs, and nothing else',
  async t => {
    const stage = new Stage(t)
    const disk = new MemoryDisk()
    const first = await stage.start({ disk })
    stage.cluster.put(MAPS, mapBody('prices', '1'))
    stage.cluster.put(MAPS, mapBody('old', '1'))
    const edge = stage.edge('e1')
    await stage.clock.advance(5_000)
    for (const name of ['a', 'b', 'c'])
      stage.cluster.put(PODS, podBody(name, 'e1', { map: name === 'b' ? 'old' : 'prices' }))
    await stage.clock.advance(5_000)
    await first.stop(false)
    stage.cluster.delete(PODS, { namespace: 'till', name: 'b' })
    stage.cluster.put(MAPS, mapBody('prices', '2'))
    const second = await stage.start({ disk })
    await stage.clock.advance(MINUTE)
    t.ok(edge.view.isConnected)
    t.strictSame(
      second.sent
        .filter(({ message: { parentId } }) => parentId === undefined)
        .map(({ message: { operation, resource } }) => `${operation} ${resource}`)
        .sort(),
      ['delete till/configmap/old', 'delete till/pod/b', 'update till/configmap/prices'],
    )
    t.strictSame(Object.keys(edge.view.pods), ['till/pod/a', 'till/pod/c'])
    t.equal(valueAt(stage.kept('e1', 'configmap').get('prices'), 'data', 'key'), '2')
  },
)

t.test('a bridge without the disk goes by what the cluster keeps', async t => {
  const stage = new Stage(t)
  const first = await stage.start({ disk: new MemoryDisk() })
  stage.edge('e1')
  await stage.clock.advance(5_000)
  stage.cluster.put(PODS, podBody('a', 'e1'))
  stage.cluster.put(PODS, podBody('b', 'e1'))
  await stage.clock.advance(10_000)
  await first.stop(false)
  stage.cluster.delete(PODS, { namespace: 'till', name: 'b' })
  const second = await stage.start({ disk: new MemoryDisk() })
  await stage.clock.advance(MINUTE)
  t.strictSame(
    second.sent
      .filter(({ message: { parentId } }) => parentId === undefined)
      .map(({ message: { operation, resource } }) => `${operation} ${resource}`),
    ['delete till/pod/b'],
  )
})

t.test('a record on disk that is older than another bridge’s is not used', async t => {
  const stage = new Stage(t)
  const [mine, others] = [new MemoryDisk(), new MemoryDisk()]
  const first = await stage.start({ disk: mine })
  const edge = stage.edge('e1')
  await stage.clock.advance(10_000)
  await first.stop()
  const second = await stage.start({ disk: others })
  await stage.clock.advance(MINUTE)
  stage.cluster.put(PODS, podBody('a', 'e1'))
  await stage.clock.advance(10_000)
  t.equal(edge.view.pods['till/pod/a']?.phase, 'Running')
  await second.stop()
  stage.cluster.delete(PODS, { namespace: 'till', name: 'a' })
  await stage.start({ disk: mine })
  await stage.clock.advance(MINUTE)
  t.strictSame(edge.view.pods, {}, 'a pod of which the disk knows nothing ends all the same')
})

t.test('after a lost acknowledgement the same message is sent again', async t => {
  const stage = new Stage(t)
  const bridge = await stage.start()
  stage.edge('e1')
  await stage.clock.advance(5_000)
  bridge.isAckHeard = ({ resource }) => !resource.startsWith('till/pod')
  stage.cluster.put(PODS, podBody('a', 'e1'))
  stage.cluster.put(PODS, podBody('b', 'e1'))
  await stage.clock.advance(21_000)
  const ids = stage.sentTo('e1', 'till/pod/a').map(({ id }) => id)
  t.equal(ids.length, 4)
  t.equal(new Set(ids).size, 1)
  t.match(bridge.downstream.explain('e1' as never), {
    sending: { aside: [{ object: 'pod till/a', reason: 'no ack', times: 1 }, {}] },
  })
  stage.cluster.put(PODS, podBody('c', 'e1'))
  bridge.isAckHeard = () => true
  await stage.clock.advance(2_000)
  t.ok(stage.kept('e1', 'pod').has('c'), 'others do not wait for it')
  await stage.clock.advance(MINUTE)
  t.match(bridge.downstream.explain('e1' as never), { sending: { waiting: 0 }, holds: { pod: 3 } })
})

t.test('five hundred objects reach one edge, sixteen at a time, and its Lease goes on', async t => {
  const stage = new Stage(t)
  const bridge = await stage.start()
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  const volumes: object[] = []
  for (let i = 0; i < 500; i++) {
    stage.cluster.put(MAPS, mapBody(`m${i}`, String(i)))
    volumes.push({ name: `v${i}`, configMap: { name: `m${i}` } })
  }
  let most = 0
  const unacknowledged = new Set<string>()
  bridge.arrives = ({ id, parentId }) => {
    if (parentId === undefined) unacknowledged.add(id)
    most = Math.max(most, unacknowledged.size)
    return true
  }
  bridge.isAckHeard = ({ parentId = '' }) => {
    unacknowledged.delete(parentId)
    return true
  }
  stage.cluster.put(PODS, podBody('big', 'e1', { volumes }))
  await stage.clock.advance(MINUTE)
  t.equal(stage.kept('e1', 'configmap').size, 500)
  t.equal(edge.view.dropped, 0)
  t.ok(most <= 16, `${most} at a time`)
  t.equal(bridge.sent.filter(({ message }) => message.parentId === undefined).length, 502)
})

t.test('a pod that a lagging cache does not have is read before it is stopped', async t => {
  const stage = new Stage(t)
  const disk = new MemoryDisk()
  const first = await stage.start({ disk })
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  stage.cluster.put(PODS, podBody('a', 'e1'))
  await stage.clock.advance(5_000)
  await first.stop()
  const body = stage.cluster.get(PODS, { namespace: 'till', name: 'a' })!
  // The next bridge's watch does not show it: as if it had listed from an older server.
  stage.cluster.put(PODS, { ...body, spec: { ...(body['spec'] as object), nodeName: '' } })
  await stage.start({ disk })
  stage.cluster.isHeldBack = true
  stage.cluster.put(PODS, body)
  await stage.clock.advance(MINUTE)
  t.equal(edge.view.pods['till/pod/a']?.phase, 'Running')
  t.strictSame(stage.sentTo('e1', 'till/pod/a'), [])
  stage.cluster.deliver()
  await stage.clock.advance(MINUTE)
  t.equal(edge.view.pods['till/pod/a']?.phase, 'Running')
})

t.test('a pod that was recreated while no bridge ran replaces the old one', async t => {
  const stage = new Stage(t)
  const disk = new MemoryDisk()
  const first = await stage.start({ disk })
  stage.cluster.put(MAPS, mapBody('old', '1'))
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  stage.cluster.put(PODS, podBody('a', 'e1', { map: 'old' }))
  stage.cluster.put(PODS, podBody('b', 'e1'))
  await stage.clock.advance(5_000)
  await first.stop(false)
  for (const name of ['a', 'b']) stage.cluster.delete(PODS, { namespace: 'till', name })
  const { metadata } = stage.cluster.put(PODS, podBody('a', 'e1'))
  await stage.start({ disk })
  await stage.clock.advance(MINUTE)
  t.strictSame(
    Object.entries(edge.view.pods).map(([name, { uid }]) => [name, uid]),
    [['till/pod/a', metadata['uid']]],
  )
  t.equal(stage.kept('e1', 'configmap').size, 0, 'nor is there what the first one referred to')
  t.match(stage.bridge!.downstream.explain('e1' as never), { holds: { pod: 1, unsure: 0 } })
})

t.test('a deleted pod without a record is stopped when its edge reports about it', async t => {
  const stage = new Stage(t)
  const first = await stage.start()
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  stage.cluster.put(PODS, podBody('a', 'e1'))
  await stage.clock.advance(100)
  t.ok(edge.view.pods['till/pod/a'], 'it came, and has not reported yet')
  await first.stop(false)
  stage.cluster.delete(PODS, { namespace: 'till', name: 'a' })
  stage.cluster.delete(MAPS, { namespace: 'edge-system', name: 'bridge-record-e1' })
  await stage.start()
  await stage.clock.advance(MINUTE)
  t.strictSame(edge.view.pods, {})
  t.match(stage.bridge!.downstream.explain('e1' as never), { holds: { node: 1, unsure: 0 } })
})

t.test('pods that were bound before the node was known are sent', async t => {
  const stage = new Stage(t)
  await stage.start()
  stage.cluster.put(MAPS, mapBody('prices', '1'))
  stage.cluster.put(PODS, podBody('early', 'e1', { map: 'prices' }))
  const edge = stage.edge('e1')
  await stage.clock.advance(10_000)
  t.equal(edge.view.pods['till/pod/early']?.phase, 'Running')
  t.equal(stage.kept('e1', 'configmap').size, 1)
})

t.test('a 404 from a proxy without a backend removes nothing from an edge', async t => {
  const stage = new Stage(t)
  await stage.start()
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  stage.cluster.put(MAPS, mapBody('prices', '1'))
  stage.cluster.put(PODS, podBody('a', 'e1', { map: 'prices' }))
  await stage.clock.advance(10_000)
  t.equal(stage.kept('e1', 'configmap').size, 1)
  stage.cluster.isMisled = true
  stage.cluster.put(MAPS, mapBody('prices', '2'))
  await stage.clock.advance(MINUTE)
  t.equal(stage.kept('e1', 'configmap').size, 1, 'it is there, as it was')
  t.equal(edge.view.pods['till/pod/a']?.phase, 'Running')
  stage.cluster.isMisled = false
  await stage.clock.advance(MINUTE)
  t.match(JSON.stringify([...stage.kept('e1', 'configmap')]), /"2/, 'and is what it became')
})

t.test('removing the node’s label ends no pod', async t => {
  const stage = new Stage(t)
  await stage.start()
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  stage.cluster.put(PODS, podBody('a', 'e1'))
  await stage.clock.advance(5_000)
  const node = stage.cluster.get(NODES, { name: 'e1' })!
  stage.cluster.put(NODES, { ...node, metadata: { ...node.metadata, labels: {} } })
  await stage.clock.advance(10 * MINUTE)
  t.equal(edge.view.pods['till/pod/a']?.phase, 'Running')
  stage.bridge!.cut('e1')
  await stage.clock.advance(2 * MINUTE)
  t.equal(edge.view.pods['till/pod/a']?.phase, 'Running')
  stage.cluster.put(NODES, nodeBody('e1'))
  stage.cluster.delete(PODS, { namespace: 'till', name: 'a' })
  await stage.clock.advance(MINUTE)
  t.strictSame(edge.view.pods, {})
})
