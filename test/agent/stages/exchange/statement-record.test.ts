// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { KnownStatement } from '../../../../agent/identity/entries.js'
import { LINK_BYTES } from '../../../../agent/identity/link-chain.js'
import type { ReceivedStatement, Statement } from '../../../../agent/identity/statement.js'
import { Heartbeat } from '../../../../agent/records/heartbeat.js'
import { RecordTable } from '../../../../agent/records/table.js'
import { meshTopology } from '../../../../agent/records/mesh.js'
import { StatementRecords } from '../../../../agent/stages/exchange/statement-record.js'
import { FLAG } from '../../../../vote/evidence.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import fc from '../../../../testkit/properties.js'
import { membersTo, rosterOf } from '../../../../testkit/zone/exchange-zone.js'

const SIZE = 5
const MEMBER = 2

const makeTable = (): RecordTable => {
  const clock = new FakeClock()
  const heartbeat = new Heartbeat(clock, undefined, () => undefined)
  return new RecordTable(rosterOf(0, membersTo(SIZE)), meshTopology(SIZE), {
    ...{ clock, heartbeat, recordTtlMs: 60_000 },
  })
}
const { roster, hash } = makeTable()
const idOf = (index: number): bigint => roster.members[index]!.id

type Act =
  | { readonly kind: 'statement'; readonly down: readonly number[]; readonly isCut: boolean }
  | { readonly kind: 'progress'; readonly quarters: number }
  | { readonly kind: 'superedge'; readonly isDown: boolean }
  | { readonly kind: 'superedge-ended' }
  | { readonly kind: 'forget-ages' }

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('progress'), quarters: fc.nat(40) }) },
  fc.record({
    kind: fc.constant('statement'),
    down: fc.subarray([0, 1, 3, 4]),
    isCut: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('superedge'), isDown: fc.boolean() }),
  fc.record({ kind: fc.constant('superedge-ended') }),
  fc.record({ kind: fc.constant('forget-ages') }),
)

const said = (time: number, down: readonly number[], isCut: boolean): ReceivedStatement => {
  const statement: Statement = {
    ...{ generation: 1, epoch: 1, time, slot: 4, logLinks: 10, heartbeat: time },
    anchor: '00'.repeat(LINK_BYTES),
    flags: isCut ? FLAG.kubeletWell | FLAG.cloudCut : FLAG.kubeletWell,
    cutFor: isCut ? 9 : 0,
    membershipHash: hash,
    down: down.map(idOf).toSorted((a, b) => (a < b ? -1 : 1)),
    ...{ notLooked: [], standsInFor: [] },
  }
  return { statement, bytes: Buffer.alloc(0) }
}

const columns = (table: RecordTable): unknown => {
  const { hb, producedAt, flags, cloudCutAt, foreign, bits, unlooked, downVotes } = table
  return { hb, producedAt, flags, cloudCutAt, foreign, bits, unlooked, downVotes }
}

t.test('a statement that only goes on holding leaves what writing it anew would leave', t => {
  let renewed = 0
  fc.assert(
    fc.property(fc.array(act, { maxLength: 30 }), acts => {
      const [one, other] = [makeTable(), makeTable()]
      const records = new StatementRecords(one)
      let received = said(1, [], false)
      let quarters = 0
      for (const [step, next] of acts.entries()) {
        const madeAt = 1_000 * (step + 1)
        if (next.kind === 'statement') {
          received = said(received.statement.time + quarters + 1, next.down, next.isCut)
          quarters = 0
        } else if (next.kind === 'progress') quarters += next.quarters
        else {
          for (const table of [one, other])
            if (next.kind === 'superedge')
              table.setForeign({ ...table.makeDraft(), origin: MEMBER, anyDown: next.isDown })
            else if (next.kind === 'superedge-ended') table.dropForeign(MEMBER)
            else table.forgetAges()
          continue
        }
        const known: KnownStatement = { received, progress: { quarters, link: undefined }, madeAt }
        const { replaced } = one
        const before = replaced[MEMBER]
        const news = records.copy(MEMBER, known)
        if (replaced[MEMBER] === before) renewed++
        const expected = new StatementRecords(other).copy(MEMBER, known)
        t.equal(news, expected)
        t.strictSame(columns(one), columns(other))
      }
    }),
    { numRuns: 300 },
  )
  t.ok(renewed > 100, `${renewed} rows were renewed without being written`)
  t.end()
})
