// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { CoreZone, memberOf } from '../support/core-zone.js'

t.test('N=100 on rings: a crash is seen by all and written once; recovery too', async t => {
  const zone = new CoreZone(100, { seed: 3 })
  zone.bootAll()
  await zone.clock.advance(15_000)
  t.equal(zone.agents[0]!.state.table.topology.kind, 'kring')
  zone.crash(42)
  const none = await zone.watch(14_000, (_, down) => down.every(node => node === 42))
  t.same(none, [], 'nobody else is called down')
  t.same(
    zone.live.filter(n => !zone.isDownFrom(n, 42)),
    [],
    'all see it',
  )
  t.match(zone.writes, [{ node: 42, isDead: true }])
  zone.boot(42)
  await zone.clock.advance(15_000)
  t.same(
    zone.live.filter(n => zone.downFrom(n).length > 0),
    [],
    'all clear',
  )
  t.equal(zone.writes.length, 2)
  await zone.stop()
})

t.test('interest: a link that is broken for two alone is seen by the one that asked', async t => {
  const zone = new CoreZone(100, { seed: 6 })
  zone.bootAll()
  await zone.clock.advance(15_000)
  const { table } = zone.agents[0]!.state
  const other = zone.live.find(n => {
    const index = table.roster.indexOf(memberOf(n).name)!
    return n > 1 && table.topology.slotOf(table.self, index) < 0
  })!
  zone.network.cut(memberOf(0).address, memberOf(other).address)
  const ask = (): void => zone.agents[0]!.detector.setInterest([memberOf(other).name, 'nobody'])
  await zone.clock.advance(15_000)
  t.same(zone.downFrom(0), [], 'not seen: others reach it')
  ask()
  await zone.clock.advance(15_000)
  t.same(zone.downFrom(0), [other])
  t.same(zone.downFrom(1), [], 'by the one that asked only')
  await zone.clock.advance(52_000)
  t.same(zone.downFrom(0), [], 'not asked again: forgotten')
  t.same(zone.writes, [])
  await zone.stop()
})
