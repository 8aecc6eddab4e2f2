// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { node, PROTOBUF, service, slice, startReads, type Thing } from '../wrapper-world.js'

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices'
const STREAM = `${PROTOBUF};stream=watch`
const INITIAL =
  'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'

for (const accept of ['application/json', PROTOBUF]) {
  t.test(`a streaming list in ${accept}`, async t => {
    const world = await startReads(t)
    world.fill({
      nodes: [node('a'), node('b')],
      services: [service('web')],
      endpointslices: [slice('web-1', 'web', ['a', 'b'])],
    })
    const watch = await world.watch(`${SLICES}?${INITIAL}`, accept)
    await watch.until(2)
    t.strictSame(watch.received, ['ADDED web-1', 'BOOKMARK'])
    t.match(watch.events[1]!.object.metadata.annotations, { 'k8s.io/initial-events-end': 'true' })
    world.health.dead.add('b')
    world.store.setHealth(['b'])
    const [, , flip] = await watch.until(3)
    t.equal(flip!.type, 'MODIFIED')
    t.match(flip!.object, { kind: 'EndpointSlice', endpoints: [{ nodeName: 'a' }] })
    t.equal((flip!.object['endpoints'] as unknown[]).length, 1, 'the dead node is gone')
    world.put('endpointslices', slice('web-2', 'web', ['c'], { version: '5' }))
    world.remove('endpointslices', 'default/web-1')
    await watch.until(5)
    t.strictSame(watch.received.slice(3), ['ADDED web-2', 'DELETED web-1'])
    const versions = watch.events.map(({ object }) => Number(object.metadata.resourceVersion))
    t.strictSame(versions, [...versions].sort(), 'versions rise')
  })
}

t.test('between a list and the watch from its version nothing is missed', async t => {
  const world = await startReads(t)
  world.fill({ nodes: [node('a')] })
  const { newest } = world.versions
  world.put('nodes', node('b'))
  world.put('nodes', node('a', { changed: '1' }))
  const watch = await world.watch(`/api/v1/nodes?watch=1&resourceVersion=${newest}`)
  world.remove('nodes', 'b')
  await watch.until(3)
  t.strictSame(watch.received, ['ADDED b', 'MODIFIED a', 'DELETED b'])
  const last = watch.events[2]!.object
  t.equal(Number(last.metadata.resourceVersion), world.versions.newest)
  const again = await world.watch(`/api/v1/nodes?watch=1&resourceVersion=${newest + 1}`)
  await again.until(2)
  t.strictSame(again.received, ['MODIFIED a', 'DELETED b'], 'no event twice, none lost')
  const now = await world.watch(
    '/api/v1/nodes?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan',
  )
  const state = await world.watch('/api/v1/nodes?watch=1&resourceVersion=0')
  world.put('nodes', node('z'))
  await now.until(1)
  await state.until(2)
  t.strictSame(now.received, ['ADDED z'])
  t.strictSame(state.received, ['ADDED a', 'ADDED z'])
})

t.test('where a watch begins', async t => {
  const world = await startReads(t, { store: { history: { changes: 2, bytes: 1 << 20 } } })
  world.fill({ nodes: [node('a')] })
  const atFirst = world.versions.newest
  for (let i = 0; i < 8; i++) world.put('nodes', node('b', { i: String(i) }))
  const { newest } = world.versions
  const streams = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  const rows: [why: string, query: string, received: readonly string[]][] = [
    ['empty: with the state', '', ['ADDED a', 'ADDED b']],
    ['any: with the state', '&resourceVersion=0', ['ADDED a', 'ADDED b']],
    ['just now: behind it', `&resourceVersion=${newest}`, []],
    ['lately: behind it', `&resourceVersion=${newest - 1}`, ['MODIFIED b']],
    ['too old: the client must list again', `&resourceVersion=${atFirst}`, ['ERROR 410']],
    ['before this life of ours', '&resourceVersion=7', ['ERROR 410']],
    ['never served', `&resourceVersion=${newest + 50}`, ['ERROR 410']],
    ['the state, and a mark', streams, ['ADDED a', 'ADDED b']],
    [
      'not older than what is forgotten',
      `${streams}&resourceVersion=${atFirst}`,
      ['ADDED a', 'ADDED b'],
    ],
    ['one of them', '&fieldSelector=metadata.name%3Db', ['ADDED b']],
  ]
  for (const accept of ['application/json', PROTOBUF])
    for (const [why, query, received] of rows) {
      const watch = await world.watch(`/api/v1/nodes?watch=1${query}`, accept)
      await watch.until(received.length)
      t.strictSame(watch.received, received, why)
      const isOver = received[0] === 'ERROR 410'
      if (isOver) await watch.ended
      t.equal(watch.response.complete, isOver, isOver ? 'and it ends in good order' : 'it goes on')
      t.match(watch.response.headers['content-type'], accept === PROTOBUF ? STREAM : accept)
      watch.close()
    }
})

t.test('a client that was too slow lists again, and misses nothing', async t => {
  const world = await startReads(t, { store: { history: { changes: 5, bytes: 1 << 20 } } })
  world.fill({ nodes: [node('a'), node('b')] })
  const { newest } = world.versions
  for (let i = 0; i < 20; i++) world.put('nodes', node('a', { i: String(i) }))
  world.remove('nodes', 'b')
  const late = await world.watch(`/api/v1/nodes?watch=1&resourceVersion=${newest}`)
  await late.until(1)
  t.strictSame(late.received, ['ERROR 410'], 'it is told, not left with what it knows')
  const list = (await world.ask('/api/v1/nodes')).json as {
    readonly metadata: { readonly resourceVersion: string }
    readonly items: readonly Thing[]
  }
  t.match(list.items, [{ metadata: { name: 'a', labels: { i: '19' } } }])
  const again = await world.watch(
    `/api/v1/nodes?watch=1&resourceVersion=${list.metadata.resourceVersion}`,
  )
  world.put('nodes', node('c'))
  await again.until(1)
  t.strictSame(again.received, ['ADDED c'])
})

t.test('watchers of slices get the version that they asked for', async t => {
  const world = await startReads(t)
  const slices = [slice('web-1', 'web', ['a']), slice('web-2', 'web', ['b'])]
  world.fill({ services: [service('web')], endpointslices: slices })
  for (const accept of ['application/json', PROTOBUF]) {
    const v1 = await world.watch(`${SLICES}?watch=1`, accept)
    const beta = await world.watch(`${SLICES.replace('/v1/', '/v1beta1/')}?watch=1`, accept)
    await Promise.all([v1.until(2), beta.until(2)])
    world.replace('endpointslices', ...slices)
    world.put('endpointslices', slice('web-3', 'web', ['c']))
    world.remove('endpointslices', 'default/web-3')
    await Promise.all([v1.until(4), beta.until(4)])
    const received = ['ADDED web-1', 'ADDED web-2', 'ADDED web-3', 'DELETED web-3']
    t.strictSame(v1.received, received, 'what upstream lists again unchanged is told to nobody')
    t.strictSame(beta.received, received)
    for (const { object } of v1.events) t.equal(object['apiVersion'], 'discovery.k8s.io/v1')
    for (const { object } of beta.events) {
      t.equal(object['apiVersion'], 'discovery.k8s.io/v1beta1')
      t.match(object['endpoints'], [{ topology: { 'kubernetes.io/hostname': String } }])
    }
  }
})

t.test('objects deleted during an outage are sent as deleted', async t => {
  const world = await startReads(t)
  const all = {
    nodes: [node('a'), node('b')],
    services: [service('web'), service('old')],
    endpointslices: [slice('web-1', 'web', ['a']), slice('old-1', 'old', ['b'])],
  }
  world.fill(all)
  const paths = { nodes: '/api/v1/nodes', services: '/api/v1/services', endpointslices: SLICES }
  for (const resource of ['nodes', 'services', 'endpointslices'] as const) {
    const watch = await world.watch(`${paths[resource]}?watch=1`)
    await watch.until(2)
    // A new list, and nobody ever saw the deletion.
    world.replace(resource, all[resource][0]!)
    await watch.until(3)
    t.equal(watch.received[2], `DELETED ${all[resource][1]!.metadata.name}`)
    t.match((await world.ask(paths[resource])).json['items'], { length: 1 })
  }
})

t.test('objects enter and leave a selection', async t => {
  const world = await startReads(t)
  world.fill({ services: [service('s', { labels: { team: 'x' } })] })
  const query = 'watch=1&labelSelector=team%3Dx&resourceVersion=0'
  for (const accept of ['application/json', PROTOBUF]) {
    const watch = await world.watch(`/api/v1/services?${query}`, accept)
    await watch.until(1)
    world.put('services', service('s', { labels: { team: 'y' } }, '2'))
    world.put('services', service('s', { labels: { team: 'y', more: '' } }, '3'))
    world.put('services', service('s', { labels: { team: 'x' } }, '4'))
    await watch.until(3)
    t.strictSame(watch.received, ['ADDED s', 'DELETED s', 'ADDED s'])
    const left = watch.events[1]!.object
    t.match(left.metadata.labels, { team: 'x' }, 'the last state that was chosen')
    t.ok(
      Number(left.metadata.resourceVersion) >
        Number(watch.events[0]!.object.metadata.resourceVersion),
      'under the version of the change',
    )
  }
  const field = await world.watch(
    '/api/v1/services?watch=1&fieldSelector=spec.clusterIP!%3DNone&resourceVersion=0',
  )
  world.put('services', service('s', { spec: { clusterIP: 'None' } }, '9'))
  await field.until(2)
  t.strictSame(field.received, ['ADDED s', 'DELETED s'])
})

t.test('bookmarks come each minute, with the newest version of all resources', async t => {
  const world = await startReads(t)
  world.fill()
  const watch = await world.watch(
    '/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=0',
  )
  const without = await world.watch('/api/v1/nodes?watch=1&resourceVersion=0')
  await world.clock.advance(60_000)
  await watch.until(1)
  world.put('services', service('s'))
  await world.clock.advance(60_000)
  const [first, second] = await watch.until(2)
  t.strictSame(watch.received, ['BOOKMARK', 'BOOKMARK'])
  t.match(second!.object, {
    kind: 'Node',
    metadata: { resourceVersion: String(world.versions.newest) },
  })
  t.notOk(first!.object.metadata.annotations, 'it ends no state')
  const resumed = await world.watch(
    `/api/v1/nodes?watch=1&resourceVersion=${second!.object.metadata.resourceVersion}`,
  )
  world.put('nodes', node('a'))
  await resumed.until(1)
  await without.until(1)
  t.strictSame(without.received, ['ADDED a'])
})

t.test('a watch ends in good order when its time is over', async t => {
  const world = await startReads(t)
  world.fill()
  const watch = await world.watch('/api/v1/nodes?watch=1&timeoutSeconds=5')
  t.equal(world.reads.watches.openOf('nodes'), 1)
  const waiting = world.clock.waiting
  await world.clock.advance(4_999)
  world.put('nodes', node('a'))
  await watch.until(1)
  await world.clock.advance(1)
  await watch.ended
  t.strictSame(watch.received, ['ADDED a'])
  t.ok(watch.response.complete, 'not cut off')
  t.equal(world.reads.watches.openOf('nodes'), 0)
  t.ok(world.clock.waiting < waiting + 1, 'no timer is left')
  const endless = await world.watch('/api/v1/nodes?watch=1&timeoutSeconds=0')
  await world.clock.advance(1_800_000)
  t.equal(world.reads.watches.openOf('nodes'), 1, 'half an hour at the least')
  await world.clock.advance(1_800_000)
  await endless.ended
})

t.test('a client that does not read gets a 410, and nobody else is affected', async t => {
  const world = await startReads(t, { store: { history: { changes: 50, bytes: 1 << 20 } } })
  world.fill({ nodes: [node('a')] })
  for (const accept of ['application/json', PROTOBUF]) {
    const slow = await world.watch('/api/v1/nodes?watch=1&resourceVersion=0', accept)
    const quick = await world.watch('/api/v1/nodes?watch=1&resourceVersion=0')
    await slow.until(1)
    slow.response.pause()
    let seen = 1
    const padding = 'x'.repeat(60_000)
    for (; world.reads.watches.overtaken === 0 && seen < 5_000; seen++) {
      world.put('nodes', { ...node('a', { seen: String(seen) }), spec: { providerID: padding } })
      await quick.until(seen + 1)
    }
    t.equal(world.reads.watches.overtaken, 1)
    slow.response.resume()
    await slow.ended
    const last = slow.events.at(-1)!
    t.match(last, { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })
    const received = slow.events
      .slice(0, -1)
      .map(({ object }) => Number(object.metadata.resourceVersion))
    t.ok(received.length < seen, 'it did miss something')
    const all = quick.events.map(({ object }) => Number(object.metadata.resourceVersion))
    t.strictSame(received, all.slice(0, received.length), 'but nothing before it was told so')
    world.reads.watches.overtaken = 0
    quick.close()
  }
})

t.test('a client that never reads again is disconnected', async t => {
  const world = await startReads(t, { store: { history: { changes: 10, bytes: 1 << 20 } } })
  world.fill({ nodes: [node('a')] })
  const stuck = await world.watch('/api/v1/nodes?watch=1&resourceVersion=0')
  await stuck.until(1)
  stuck.response.pause()
  const padding = 'x'.repeat(100_000)
  for (let i = 0; world.reads.watches.overtaken === 0 && i < 5_000; i++) {
    world.put('nodes', { ...node('a', { i: String(i) }), spec: { providerID: padding } })
    // As much as it can take goes to the kernel.
    await world.clock.advance(1)
  }
  t.equal(world.reads.watches.openOf('nodes'), 0, 'it is told nothing more')
  await world.clock.advance(5_000)
  stuck.response.resume()
  await stuck.ended
  t.notOk(stuck.response.complete, 'its connection was cut')
})

t.test('an event is encoded once for all watchers of an encoding', async t => {
  const world = await startReads(t)
  world.fill({
    nodes: [node('a')],
    services: [service('web')],
    endpointslices: Array.from({ length: 200 }, (_, i) => slice(`web-${i}`, 'web', ['a', 'b'])),
  })
  const { newest } = world.versions
  const open = (accept: string) =>
    world.watch(`${SLICES}?watch=1&resourceVersion=${newest}`, accept)
  const watches = await Promise.all([PROTOBUF, PROTOBUF, PROTOBUF, 'application/json'].map(open))
  world.health.dead.add('b')
  world.store.setHealth(['b'])
  for (const watch of watches) {
    await watch.until(200)
    t.equal(new Set(watch.received).size, 200)
  }
  t.equal(world.reads.watches.encoded, 400)
  t.equal(world.reads.watches.events, 800)
})

t.test('watchers come and go and leave nothing behind', async t => {
  const world = await startReads(t)
  world.fill({ nodes: [node('a')] })
  const before = world.clock.waiting
  for (let i = 0; i < 20; i++) {
    const watch = await world.watch('/api/v1/nodes?watch=1&allowWatchBookmarks=1')
    await watch.until(1)
    watch.close()
    await watch.ended
  }
  while (world.reads.watches.openOf('nodes') > 0) await world.clock.advance(1)
  t.equal(world.clock.waiting, before)
})

t.test('stopping ends all watches in good order', async t => {
  const world = await startReads(t)
  world.fill()
  const watch = await world.watch('/api/v1/nodes?watch=1')
  world.reads.stop()
  await watch.ended
  t.ok(watch.response.complete)
})

t.test('FW14: a client that keeps up gets every change when a whole list is new', async t => {
  const world = await startReads(t)
  const large = (i: number, round: number) => ({
    ...node(`n${String(i).padStart(4, '0')}`, { round: String(round) }),
    spec: { providerID: 'x'.repeat(10_000) },
  })
  const all = (round: number) => Array.from({ length: 1_000 }, (_, i) => large(i, round))
  world.fill({ nodes: all(0) })
  const watch = await world.watch(`/api/v1/nodes?watch=1&resourceVersion=${world.versions.newest}`)
  const { history } = world.store.table('nodes')
  world.replace('nodes', ...all(1))
  t.ok(history.bytes > 8 << 20, 'more than is kept in the long run')
  await watch.until(1_000)
  t.notOk(watch.received.some(received => !received.startsWith('MODIFIED')))
  world.replace('nodes', ...all(2))
  await watch.until(2_000)
  t.notOk(
    watch.received.some(received => !received.startsWith('MODIFIED')),
    'and again',
  )
  t.ok(history.bytes <= 20 << 20, 'but no more than everything once')
  await world.clock.advance(60_000)
  t.ok(history.bytes <= 8 << 20, 'for a minute at most')
  t.equal(world.reads.watches.overtaken, 0)
})
