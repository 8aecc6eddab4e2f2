// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { node, PROTOBUF, service, slice, startReads } from '../../support/wrapper-world.js'

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices'
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
    t.strictSame(watch.told, ['ADDED web-1', 'BOOKMARK'])
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
    t.strictSame(watch.told.slice(3), ['ADDED web-2', 'DELETED web-1'])
    const versions = watch.events.map(({ object }) => Number(object.metadata.resourceVersion))
    t.strictSame(versions, [...versions].sort(), 'versions rise')
  })
}
