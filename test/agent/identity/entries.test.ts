// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  digestOf,
  entryBytes,
  newsFor,
  quartersAt,
  readEntries,
  writeEntry,
  type Entry,
  type KnownStatement,
} from '../../../agent/identity/entries.js'
import { MemberStatement } from '../../../agent/identity/member-statement.js'
import { generateNodeKeys, makeVerifier } from '../../../agent/identity/node-keys.js'
import { OwnStatement } from '../../../agent/identity/own-statement.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import fc from '../../../testkit/properties.js'

const keys = generateNodeKeys()
const verify = makeVerifier(keys.public.signing)
const origin = { zoneHash: 5n, id: 77n }
const SLOT = 4
const nextHeartbeat = (floor: number): number => floor + 1

const content = (down: readonly bigint[]) => ({
  ...{ flags: 0, membershipHash: 9n, cutAt: -Infinity, down, notLooked: [], standsInFor: [] },
})
const known = (one: MemberStatement): KnownStatement | undefined =>
  one.received && { received: one.received, progress: one.progress, madeAt: one.madeAt }

/** Write and read again, as over the wire. */
const sent = (place: number, entry: Entry): Entry => {
  const out = Buffer.alloc(entryBytes(entry))
  const end = writeEntry(out, 0, place, entry)
  const read: [number, Entry][] = []
  t.ok(readEntries(out.subarray(0, end), place + 1, (at, one) => read.push([at, one])))
  t.strictSame(
    read.map(([at]) => at),
    [place],
  )
  return read[0]![1]
}

const take = (one: MemberStatement, entry: Entry, now: number): string => {
  if (entry.kind === 'statement')
    return one.takeStatement(entry.received, entry.progress, entry.age, now).kind
  const quarters = quartersAt(known(one)!, entry.time)
  const link = entry.kind === 'link' ? entry.link : undefined
  return one.takeProgress({ quarters, link }, now).kind
}

const numberOf = (one: MemberStatement): number =>
  one.received === undefined ? -1 : one.received.statement.time + one.progress.quarters

t.test(
  'times up to the largest that a statement can have are sent and read as remainders',
  async t => {
    const anyTime = fc.record({
      time: fc.bigInt({ min: 0n, max: 2n ** 48n - 1n }),
      quarters: fc.integer({ min: 200, max: 65_535 }),
      ahead: fc.integer({ min: -127, max: 128 }),
    })
    fc.assert(
      fc.property(anyTime, ({ time, quarters, ahead }) => {
        const statement = { time: Number(time), slot: SLOT }
        const one = {
          received: { statement, bytes: Buffer.alloc(0) },
          ...{ progress: { quarters, link: '00'.repeat(10) }, madeAt: 0 },
        } as KnownStatement
        const until = time + BigInt(quarters)
        t.equal(digestOf(one, 0), Number(until % 255n) + 1)
        t.equal(quartersAt(one, Number((until + BigInt(ahead)) % 256n)), quarters + ahead)
        const news = newsFor(one, Number((until - 100n) % 255n) + 1, 0)
        t.match(news, { kind: 'link', time: Number(until % 256n) })
      }),
    )
  },
)

t.test('news of a statement do not change with what its receiver takes in later', async t => {
  const clock = new FakeClock(1_000, undefined, { settle: () => Promise.resolve() })
  const seams = { clock, seed: () => Buffer.alloc(10, 3), save: () => undefined, nextHeartbeat }
  const identity = { origin, keys, generation: 1, savedEpoch: 0 }
  const own = new OwnStatement(identity, SLOT, content([]), seams)
  const one = new MemberStatement(origin, 1, verify)
  const hear = () => {
    const { received, progress } = own.news()
    return one.takeStatement(received, progress, 0, clock.now()).kind
  }
  await clock.advance(5_000)
  t.equal(hear(), 'newer')
  const entry = newsFor(known(one)!, 0, clock.now()) as Extract<Entry, { kind: 'statement' }>
  const before = { ...entry.progress }
  await clock.advance(5_000)
  t.equal(hear(), 'newer')
  t.strictSame(entry.progress, before)
  t.not(one.progress.quarters, before.quarters)
})

t.test('a peer that sent its digest gets what it lacks, and nothing else', async t => {
  const act = fc.record({
    after: fc.oneof(fc.integer({ min: 0, max: 1_500 }), fc.integer({ min: 0, max: 20_000 })),
    /** Who hears it: one, the other, both or nobody. */
    heardBy: fc.integer({ min: 0, max: 3 }),
    isChange: fc.boolean(),
  })
  const kinds = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), async acts => {
      const clock = new FakeClock(1_000, undefined, { settle: () => Promise.resolve() })
      const seams = { clock, seed: () => Buffer.alloc(10, 3), save: () => undefined, nextHeartbeat }
      const own = new OwnStatement(
        { origin, keys, generation: 1, savedEpoch: 0 },
        SLOT,
        content([]),
        seams,
      )
      const [a, b] = [
        new MemberStatement(origin, 1, verify),
        new MemberStatement(origin, 1, verify),
      ]
      for (const [at, { after, heardBy, isChange }] of acts.entries()) {
        await clock.advance(after)
        if (isChange) own.say(content([BigInt(at + 1)]))
        const { received, progress } = own.news()
        if ((heardBy & 1) !== 0) a.takeStatement(received, progress, 0, clock.now())
        if ((heardBy & 2) !== 0) b.takeStatement(received, progress, 0, clock.now())
      }
      const [from, to] = numberOf(a) >= numberOf(b) ? [a, b] : [b, a]
      if (from.received === undefined) return
      const now = clock.now()
      const back = known(to) && newsFor(known(to)!, digestOf(known(from), now), now)
      if (digestOf(known(from), now) !== 0)
        t.equal(back, undefined, 'who knows more learns nothing')
      const news = newsFor(known(from)!, digestOf(known(to), now), now)
      const kind = news?.kind ?? 'nothing'
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      if (news !== undefined) {
        const taken = take(to, sent(3, news), now)
        t.ok(taken === 'newer' || (digestOf(known(to), now) === 0 && taken === 'known'), taken)
      }
      t.equal(numberOf(to), numberOf(from))
      t.ok(to.received?.bytes.equals(from.received.bytes))
    }),
    { numRuns: 300 },
  )
  for (const kind of ['nothing', 'time', 'link', 'statement'])
    t.ok((kinds.get(kind) ?? 0) >= 5, `${kind}: ${kinds.get(kind) ?? 0} times`)
})

t.test('a peer that seems to be ahead of a node itself is sent its statement', t => {
  const clock = new FakeClock(100_000)
  const seams = { clock, seed: () => Buffer.alloc(10, 3), save: () => undefined, nextHeartbeat }
  const identity = { origin, keys, generation: 1, savedEpoch: 0 }
  const { received, progress } = new OwnStatement(identity, SLOT, content([]), seams).news()
  const now = clock.now()
  const mine = { received, progress, madeAt: now }
  const ahead = (digestOf(mine, now) % 255) + 1
  t.equal(newsFor(mine, ahead, now), undefined, 'of a member it may know more')
  t.match(newsFor(mine, ahead, now, { isOwn: true }), { kind: 'statement' })
  t.equal(newsFor(mine, digestOf(mine, now), now, { isOwn: true }), undefined)
  t.end()
})

t.test('what a relay does not know the age of counts as old', async t => {
  const clock = new FakeClock()
  const seams = { clock, seed: () => Buffer.alloc(10, 3), save: () => undefined, nextHeartbeat }
  const own = new OwnStatement(
    { origin, keys, generation: 1, savedEpoch: 0 },
    SLOT,
    content([]),
    seams,
  )
  const { received, progress } = own.news()
  const entry: Entry = { kind: 'statement', received, progress, age: 100_000 }
  t.match(sent(0, entry), { age: Infinity }, 'more than a byte tells')
  t.match(sent(0, { ...entry, age: 1 }), { age: 250 }, 'rounded up')
  await clock.advance(1)
})

t.test('what cannot be read ends the message, and never throws', t => {
  const read = (bytes: Buffer, count = 10): [boolean, number] => {
    let entries = 0
    return [readEntries(bytes, count, () => entries++), entries]
  }
  const rows: [string, number[], boolean, number][] = [
    ['nothing at all', [], true, 0],
    ['a time', [0, 7], true, 1],
    ['two', [0, 7, 8, 9], true, 2],
    ['a time that is cut off', [0, 7, 0], false, 1],
    ['a link that is cut off', [1, 7, 1, 2, 3], false, 0],
    ['a place that there is not', [40, 7], false, 0],
    ['a kind that there is not', [3, 7], false, 0],
    ['a statement of no bytes', [2, 0, 0, 0], false, 0],
    ['a statement without its bytes', [2, 0, 200], false, 0],
    ['a number without end', [0xff, 0xff, 0xff, 0xff, 0xff], false, 0],
  ]
  for (const [what, bytes, isWhole, entries] of rows)
    t.strictSame(read(Buffer.from(bytes)), [isWhole, entries], what)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      read(Buffer.from(bytes))
      return true
    }),
    { numRuns: 1_000 },
  )
  t.end()
})
