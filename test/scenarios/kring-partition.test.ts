// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { CoreZone, memberOf } from '../support/core-zone.js'

t.test(
  'N=100 on rings, 30/70: the minority writes nothing, stand-ins watch the lonely',
  async t => {
    const zone = new CoreZone(100, { seed: 4 })
    zone.bootAll()
    await zone.clock.advance(12_000)
    const few = zone.live.filter(n => n % 10 < 3)
    const many = zone.live.filter(n => n % 10 >= 3)
    zone.partition(few, many)
    await zone.clock.advance(30_000)
    t.same(
      few.map(n => zone.downFrom(n).length).filter(count => count < 70),
      [],
      'the minority hides the others',
    )
    t.same(zone.downFrom(many[0]!), few)
    t.same(
      zone.writes.filter(({ by, node }) => few.includes(by) || many.includes(node)),
      [],
      'and writes nothing',
    )
    t.equal(zone.marked.size, 30, 'the majority writes all of it')
    t.equal(zone.writes.length, 30, 'each once')
    const atWork = few.some(n => {
      const { table } = zone.agents[n]!.state
      return few.some(node => {
        const index = table.roster.indexOf(memberOf(node).name)!
        return table.observersOf(index).length > table.topology.observersOf(index).length
      })
    })
    t.ok(atWork, 'some of the minority lost nearly all their observers')
    await zone.stop()
  },
)
