// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Heartbeat } from '../../../agent/records/heartbeat.js'
import { meshTopology } from '../../../agent/records/mesh.js'
import { RecordTable } from '../../../agent/records/table.js'
import { membersTo, rosterOf } from '../../../testkit/zone/exchange-zone.js'
import { FakeClock } from '../../../testkit/fake-clock.js'

const MEMBER = 3
const TTL_MS = 60_000

const openTable = () => {
  const clock = new FakeClock()
  const heartbeat = new Heartbeat(clock, undefined, () => undefined)
  const seams = { clock, heartbeat, recordTtlMs: TTL_MS }
  const table = new RecordTable(rosterOf(0, membersTo(5)), meshTopology(5), seams)
  /** A record arrives. @returns how old it then counts as, in ms */
  const arrives = (hb: number, ageMs: number): number => {
    const at = { origin: MEMBER, hb, producedAt: clock.now() - ageMs }
    table.merge(Object.assign(table.makeDraft(), at))
    return clock.now() - table.producedAt[MEMBER]!
  }
  return { clock, arrives }
}

t.test(
  'a record is no older than the one before it, whatever rounding made of its age',
  async t => {
    const { clock, arrives } = openTable()
    t.equal(arrives(8, 100), 100)
    await clock.advance(200)
    t.equal(arrives(9, 1_000), 300, 'the one before was made 300 ms ago')
    t.equal(arrives(10, 250), 250, 'this one is younger than both')
    t.end()
  },
)

t.test('… but one wrong age does not make later records look young', t => {
  const { arrives } = openTable()
  t.equal(arrives(8, 0), 0)
  t.equal(arrives(9, 20_000), 19_000, 'only rounding is corrected')
  t.equal(arrives(10, 20_000), 19_000, 'and not twice')
  t.end()
})

t.test('a record with a lower number changes no age', t => {
  const { arrives } = openTable()
  arrives(8, 500)
  t.equal(arrives(7, 0), 500, 'a lower number is no news')
  t.end()
})
