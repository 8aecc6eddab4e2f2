// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { servedBytes } from '../../../wrapper/store/stored.js'
import { readSlice } from '../../../wrapper/wire/slice.js'
import { item, makeStore, node, service, slice } from '../wrapper-world.js'

const web = (topologyKeys: string, version: string) =>
  item('services', service('web', { annotations: { topologyKeys } }, version))

/** Nodes a and b share this node's zone, a and c its rack. */
const startStore = () => {
  const { store, health } = makeStore()
  store.upstream('nodes').replace([item('nodes', node('a', { zone: 'x', rack: 'r' }))])
  const keys = (topologyKeys: string, version: string) =>
    store.upstream('services').upsert(web(topologyKeys, version))
  return {
    ...{ store, health, keys },
    zoneIsKnown: () => store.setNeighbours('zone', { value: 'x', names: new Set(['a', 'b']) }),
    rackIsKnown: () => store.setNeighbours('rack', { value: 'r', names: new Set(['a', 'c']) }),
    /** Judge anew, for a reason that has nothing to do with topology. */
    judgeAnew: () => {
      health.dead.add('d')
      store.setHealth(['d'])
    },
    listSlices: () =>
      store
        .upstream('endpointslices')
        .replace([item('endpointslices', slice('web-1', 'web', ['a', 'b', 'c', 'd']))]),
    shown: (): string =>
      store
        .table('endpointslices')
        .list()
        .flatMap(record => readSlice(servedBytes(record)).endpoints.map(({ node }) => node))
        .join(),
  }
}

t.test('the former neighbours count until those of the new key are known', t => {
  const { store, keys, zoneIsKnown, rackIsKnown, judgeAnew, listSlices, shown } = startStore()
  store.upstream('services').replace([web('["zone"]', '1')])
  listSlices()
  zoneIsKnown()
  t.equal(shown(), 'a,b')
  keys('["rack"]', '2')
  t.equal(shown(), 'a,b', 'right after the change')
  judgeAnew()
  t.equal(shown(), 'a,b', 'also when the service is judged again')
  rackIsKnown()
  t.equal(shown(), 'a,c')
  t.strictSame([...store.neighbours.keys()], ['rack'], 'then they are forgotten')
  t.end()
})

t.test('what an earlier process knew of a label does not count again after an answer', t => {
  const { store, keys, listSlices, shown } = startStore()
  store.rememberNeighbours('zone', { value: 'x', names: new Set(['a', 'b']) })
  store.upstream('services').replace([web('["zone"]', '1')])
  listSlices()
  t.equal(shown(), 'a,b', 'until the answer it counts')
  store.setNeighbours('zone', { value: 'x', names: new Set(['a', 'c']) })
  t.equal(shown(), 'a,c')
  keys('[]', '2')
  t.equal(shown(), 'a,b,c,d')
  keys('["zone"]', '3')
  t.equal(shown(), 'a,b,c,d', 'the former rule stays until there is another answer')
  t.strictSame([...store.lastNeighbours], [], 'nor after the next start')
  t.end()
})

t.test('an answer for another value than this node has takes nothing away', t => {
  const { store, listSlices, shown } = startStore()
  store.rememberNeighbours('zone', { value: 'x', names: new Set(['a', 'b']) })
  store.upstream('services').replace([web('["zone"]', '1')])
  listSlices()
  store.setNeighbours('zone', { value: 'y', names: new Set(['c']) })
  t.equal(shown(), 'a,b')
  t.strictSame([...store.lastNeighbours.keys()], ['zone'])
  t.end()
})

t.test('an earlier process knew which keys were the last valid ones', t => {
  const { store, zoneIsKnown, listSlices, shown } = startStore()
  store.rememberKeys('default/web', '["zone"]')
  store.rememberKeys('default/gone', '["rack"]')
  store.upstream('services').replace([web('["zone"', '2')])
  listSlices()
  zoneIsKnown()
  t.equal(shown(), 'a,b', 'they stay when the present ones cannot be read')
  t.strictSame(
    [...store.topologyKeys],
    [['default/web', ['zone']]],
    'services that are gone are forgotten',
  )
  t.end()
})
