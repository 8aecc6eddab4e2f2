// SPDX-License-Identifier: Apache-2.0
import fc from '../../../../testkit/properties.js'
import t from 'tap'
import { maxMessageBytes } from '../../../../agent/stages/exchange/body.js'
import { BodyReader } from '../../../../agent/stages/exchange/body-reader.js'
import { BodyWriter } from '../../../../agent/stages/exchange/body-writer.js'
import { Heartbeat, LEAP_MAX, MAX_HEARTBEAT } from '../../../../agent/records/heartbeat.js'
import { makeKeyRing, parseKeyRing } from '../../../../agent/key-ring.js'
import { meshTopology } from '../../../../agent/records/mesh.js'
import { InboundSession } from '../../../../agent/stages/exchange/session.js'
import type { RecordDraft } from '../../../../agent/records/record-draft.js'
import { FLAG_MASK, RecordTable } from '../../../../agent/records/table.js'
import type { Topology } from '../../../../agent/records/topology.js'
import { ByteReader, unzigzag, writeVarint, zigzag } from '../../../../core/varint.js'
import {
  open,
  seal,
  SPARSE,
  TYPE,
  zoneHash,
  type Header,
} from '../../../../agent/stages/exchange/wire.js'
import { FLAG } from '../../../../vote/evidence.js'
import { KEY_A, KEY_B, membersTo, rosterOf } from '../../../../testkit/zone/exchange-zone.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const clock = new FakeClock(100_000_000)
const makeTable = (self: number, members = membersTo(10), topology = meshTopology): RecordTable =>
  new RecordTable(rosterOf(self, members), topology(members.length), {
    clock,
    heartbeat: new Heartbeat(clock, undefined, () => undefined),
    recordTtlMs: 60_000,
  })

interface Said {
  readonly origin: number
  readonly hb: number
  readonly flags: number
  readonly down: readonly number[]
  readonly unlooked: readonly number[]
}

/** The content is a function of origin and heartbeat, as it is of an honest origin. */
const said = fc
  .tuple(fc.nat(9), fc.integer({ min: 1_700_000_000, max: 1_700_000_040 }))
  .map(([origin, hb]): Said => {
    const random = seededRandom(origin * 1000 + (hb % 1000))
    return {
      origin,
      hb,
      flags: random.below(FLAG_MASK + 1),
      down: Array.from({ length: random.below(5) }, () => random.below(10)),
      unlooked: Array.from({ length: random.below(4) }, () => random.below(10)),
    }
  })

const mergeAll = (table: RecordTable, list: readonly Said[]): RecordTable => {
  const draft = table.makeDraft()
  for (const { origin, hb, flags, down, unlooked } of list) {
    Object.assign(draft, {
      origin,
      hb,
      flags,
      producedAt: clock.now() - 1_000,
      cloudCutAt: clock.now() - 9_000,
    })
    draft.anyDown = down.length > 0
    draft.down.fill(0)
    for (const target of down) draft.down[target >> 3]! |= 1 << (target & 7)
    draft.anyUnlooked = unlooked.length > 0
    draft.unlooked.fill(0)
    for (const target of unlooked) draft.unlooked[target >> 3]! |= 1 << (target & 7)
    table.merge(draft)
  }
  return table
}

const othersOf = (table: RecordTable): unknown =>
  table.roster.members.map((_, i) =>
    i === table.self
      ? null
      : [
          table.hb[i],
          table.flags[i],
          table.producedAt[i],
          table.cloudCutAt[i],
          table.downVotes[i],
          table.roster.members.map((_m, target) => table.saysDown(i, target)).join(),
          table.roster.members.map((_m, target) => table.hasLooked(i, target)).join(),
        ],
  )

const countedSlowly = (table: RecordTable): number[] =>
  table.roster.members.map(
    (_, target) => table.roster.members.filter((_m, voter) => table.saysDown(voter, target)).length,
  )

t.test('records: the order and the number of deliveries do not matter', t => {
  fc.assert(
    fc.property(fc.array(said, { maxLength: 60 }), fc.infiniteStream(fc.nat(59)), (list, picks) => {
      const once = mergeAll(makeTable(0), list)
      const order = [...list, ...list.slice(0, 20)].sort(() =>
        picks.next().value! % 2 === 0 ? 1 : -1,
      )
      const again = mergeAll(makeTable(0), order)
      t.same(othersOf(again), othersOf(once))
      t.same([...once.downVotes], countedSlowly(once), 'votes are counted as they change')
      const { self } = once
      for (let i = 0; i < 10; i++) {
        if (once.saysDown(i, i)) return false
        for (let target = 0; target < 10; target++)
          if (once.saysDown(i, target) && !once.hasLooked(i, target)) return false
      }
      const seen = Math.max(0, ...list.filter(({ origin }) => origin === self).map(({ hb }) => hb))
      once.beat()
      return once.hb[self]! > seen
    }),
    { numRuns: 200 },
  )
  t.end()
})

t.test('own votes, flags and rounds', t => {
  const table = makeTable(3)
  const { self } = table
  const target = (self + 1) % 10
  t.equal(table.failedRounds[target], -1, 'no round yet')
  t.equal(table.setOwnVote(self, 'down', 1), false, 'nobody judges itself')
  t.equal(table.setOwnVote(target, 'down', 1), true)
  t.equal(table.setOwnVote(target, 'down', 2), false, 'the same again is no flip')
  t.same([table.failedRounds[target], table.downVotes[target], table.downCount[self]], [2, 1, 1])
  t.ok(table.hasLooked(self, target))
  t.notOk(table.hasLooked(self, (self + 2) % 10), 'FA3: no vote before the first round')
  t.ok(table.setOwnVote(target, 'not-looked', -1), 'down no more is a flip')
  t.notOk(table.setOwnVote(target, 'not-looked', -1), 'once')
  t.notOk(table.saysDown(self, target) || table.hasLooked(self, target), 'FA3: neither of them')
  t.equal(table.failedRounds[target], -1)
  table.setOwnVote(target, 'down', 2)
  const before = table.hb[self]!
  table.beat()
  table.beat()
  t.equal(table.hb[self], before + 1, 'one beat per change')
  t.equal(table.setOwnFlags(FLAG.cloudCut | FLAG.kubeletWell, 5), FLAG.cloudCut | FLAG.kubeletWell)
  t.equal(table.cloudCutAt[self], 5)
  t.equal(table.setOwnFlags(FLAG.kubeletWell, 5), FLAG.cloudCut)
  t.equal(table.cloudCutAt[self], -Infinity)
  const smaller = new RecordTable(
    rosterOf(3, membersTo(5)),
    meshTopology(5),
    {
      ...{ clock, recordTtlMs: 60_000 },
      heartbeat: new Heartbeat(clock, undefined, () => undefined),
    },
    table,
  )
  const { name } = table.roster.members[target]!
  const now = smaller.roster.indexOf(name)
  if (now !== undefined) t.ok(smaller.saysDown(smaller.self, now), 'a vote is carried over by name')
  t.same([...smaller.downVotes], countedSlowly(smaller))
  t.end()
})

t.test('the heartbeat never goes back, whatever the wall clock and the disk do', async t => {
  const life = fc.record({
    beats: fc.nat(59),
    gapMs: fc.nat(3_000),
    stepMs: fc.integer({ min: -9_000_000, max: 9_000_000 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(life, { maxLength: 6 }), async lives => {
      const time = new FakeClock()
      let saved: number | undefined
      let last = 0
      for (const { beats, gapMs, stepMs } of lives) {
        const heartbeat = new Heartbeat(time, saved, value => (saved = value))
        for (let i = 0; i < beats; i++) {
          const next = heartbeat.next()
          if (next <= last) return false
          last = next
          await time.advance(gapMs)
        }
        time.stepWall(stepMs)
      }
      return true
    }),
    { numRuns: 50 },
  )
  const end = new Heartbeat(clock, LEAP_MAX - 20, () => undefined)
  end.refute(LEAP_MAX - 1)
  t.equal(end.next(), LEAP_MAX + 1, 'it counts on where no leap leads')
  t.equal(
    new Heartbeat(new FakeClock(0, 2 ** 32 * 1000), 7, () => undefined).value,
    23,
    'an absurd clock is not believed',
  )
  t.end()
})

t.test('FA4: neither disk, clock nor others lead a heartbeat out of its room', t => {
  const make = (saved: number | undefined, wall = Date.UTC(2026, 0, 1)): Heartbeat =>
    new Heartbeat(new FakeClock(0, wall), saved, () => undefined)
  const today = make(undefined).value
  t.equal(make(MAX_HEARTBEAT).value, today, 'a saved heartbeat beyond the bound is not taken')
  t.equal(make(LEAP_MAX + 1).value, today)
  t.equal(make(LEAP_MAX - 100).value, LEAP_MAX - 84)
  t.equal(make(undefined, Date.UTC(2099, 0, 1)).value, 1, 'nor a clock')
  t.equal(make(5_000, 0).value, 5_016, 'a clock of 1970 goes on from disk')
  const heartbeat = make(undefined)
  heartbeat.refute(MAX_HEARTBEAT)
  heartbeat.refute(LEAP_MAX)
  t.equal(heartbeat.next(), today + 1, 'a number that no life of ours had is not followed')
  heartbeat.refute(today + 1_000_000)
  t.equal(heartbeat.next(), today + 1_000_002, 'one that it may have had is')
  t.end()
})

t.test('FA4: a record that has expired blocks nobody', async t => {
  const time = new FakeClock(100_000_000)
  const table = new RecordTable(rosterOf(0, membersTo(5)), meshTopology(5), {
    ...{ clock: time, recordTtlMs: 60_000 },
    heartbeat: new Heartbeat(time, undefined, () => undefined),
  })
  const merge = (hb: number, ageMs: number, isFirstHand: boolean): string => {
    const at = { origin: 3, hb, producedAt: time.now() - ageMs }
    return table.merge(Object.assign(table.makeDraft(), at), isFirstHand)
  }
  t.equal(merge(1_700_000_000, 0, true), 'changed')
  t.equal(merge(MAX_HEARTBEAT, 0, false), 'fresher', 'forged')
  t.equal(merge(1_700_000_001, 0, true), 'old')
  await time.advance(60_000)
  t.equal(merge(1_700_000_060, 0, false), 'old', 'a relay may have stood still')
  t.equal(merge(1_700_000_060, 60_000, true), 'old')
  t.equal(merge(1_700_000_060, 0, true), 'changed', 'its own word counts, which it did not before')
  t.equal(merge(MAX_HEARTBEAT, 60_250, false), 'old', 'and the forgery that others keep does not')
  t.equal(merge(1_700_000_070, 60_250, false), 'fresher', 'an old record of an honest number does')
})

const zone = zoneHash('c', 'z')
const ring = makeKeyRing(KEY_A, KEY_B)
const headerFor = (table: RecordTable, sparse: boolean): Header => ({
  type: TYPE.gossip,
  flags: sparse ? SPARSE : 0,
  membershipHash: table.hash,
  senderId: table.roster.members[table.self]!.id,
  senderBoot: 77n,
  senderSeq: 1,
  baseHb: table.hb[table.self]!,
  destBoot: 88n,
  count: table.size,
  heldMs: 5,
})
const encode = (table: RecordTable, sparse: boolean, suspects: number[] = []): Buffer =>
  new BodyWriter(table).encode(
    { sparse, suspects, keySetHash: ring.setHash, baseHb: table.hb[table.self]! },
    clock.now(),
  )

/** Two slots each, as rings would have them: a topology that is not the mesh. */
const pairs = (size: number): Topology => ({
  ...meshTopology(size),
  kind: 'kring',
  slots: 2,
  backupSlots: 0,
  targetsOf: o => Uint16Array.of((o + 1) % size, (o + 2) % size),
  observersOf: target => Uint16Array.of((target + size - 1) % size, (target + size - 2) % size),
  slotOf: (o, target) => [1, 2].indexOf((target - o + size) % size),
  targetAt: (o, slot) => (slot < 2 ? (o + 1 + slot) % size : -1),
})

t.test('bodies: what is written is read, dense and sparse, in any topology', t => {
  fc.assert(
    fc.property(
      fc.array(said, { maxLength: 40 }),
      fc.boolean(),
      fc.boolean(),
      (list, sparse, isMesh) => {
        const topology = isMesh ? meshTopology : pairs
        const from = mergeAll(makeTable(0, membersTo(10), topology), list)
        from.setOwnVote(from.topology.targetsOf(from.self)[0]!, 'down', 1)
        from.beat()
        const to = makeTable(9, membersTo(10), topology)
        const reader = new BodyReader(to)
        const body = encode(from, sparse, [2, 5])
        const header = headerFor(from, sparse)
        const head = reader.read(header, body, clock.now())
        reader.read(header, body, clock.now(), draft => to.merge(draft))
        t.same(head?.suspects, [2, 5])
        t.equal(head?.keySetHash, ring.setHash)
        for (let i = 0; i < 10; i++) {
          if (i === to.self) continue
          t.same(
            [to.hb[i], to.flags[i], to.foreign[i], to.producedAt[i], to.cloudCutAt[i]],
            [from.hb[i], from.flags[i], from.foreign[i], from.producedAt[i], from.cloudCutAt[i]],
          )
          for (let target = 0; target < 10; target++) {
            t.equal(to.saysDown(i, target), from.saysDown(i, target))
            if (from.hb[i] !== 0 && (isMesh || !sparse))
              t.equal(to.hasLooked(i, target), from.hasLooked(i, target), 'not looked is said')
          }
        }
        return body.length + 96 <= maxMessageBytes(10)
      },
    ),
    { numRuns: 60 },
  )
  const old = makeTable(1)
  const draft: RecordDraft = Object.assign(old.makeDraft(), {
    origin: 5,
    hb: 1_600_000_000,
    producedAt: clock.now() - 900_000,
  })
  old.merge(draft)
  const to = makeTable(2)
  const ownReader = new BodyReader(to)
  ownReader.read(headerFor(old, false), encode(old, false), clock.now(), record => to.merge(record))
  t.same(
    [to.hb[5], to.producedAt[5]],
    [1_600_000_000, -Infinity],
    'too old for the age byte: the heartbeat still travels',
  )
  const over = makeTable(1)
  const fresh = makeTable(3)
  const others = [...Array(10).keys()].filter(i => i !== over.self && i !== fresh.self).slice(0, 4)
  const shown = [MAX_HEARTBEAT, MAX_HEARTBEAT + 1, 0xffff_ffff, 1_700_000_000]
  others.forEach((origin, i) => {
    over.merge(Object.assign(over.makeDraft(), { origin, hb: shown[i], producedAt: clock.now() }))
  })
  const reader = new BodyReader(fresh)
  for (const sparse of [false, true]) {
    const body = encode(over, sparse)
    t.ok(reader.read(headerFor(over, sparse), body, clock.now()), 'FA12: it is well-formed')
    reader.read(headerFor(over, sparse), body, clock.now(), record => fresh.merge(record))
    t.same(
      others.map(origin => fresh.hb[origin]),
      [MAX_HEARTBEAT, 0, 0, 1_700_000_000],
      'FA12: a heartbeat beyond the maximum is left out, the others are read',
    )
  }
  t.notOk(
    ownReader.canRead(headerFor(makeTable(1, membersTo(9)), false)),
    'places of another roster are not read',
  )
  t.notOk(
    ownReader.canRead(headerFor(makeTable(1, membersTo(10), pairs), false)),
    'nor of another topology',
  )
  t.end()
})

t.test('bodies with wrong counts or lengths are refused as a whole', t => {
  const table = makeTable(0)
  const reader = new BodyReader(table)
  const header = headerFor(makeTable(1), false)
  const good = encode(makeTable(1), false)
  t.ok(reader.read(header, good, 0))
  const bad: [string, Header, Buffer][] = [
    ['bytes left over', header, Buffer.concat([good, Buffer.of(0)])],
    ['too short', header, good.subarray(0, -1)],
    ['more records than members', { ...header, count: 11 }, good],
    ['more than anybody needs', { ...header, flags: SPARSE, count: 0xffffffff }, good],
    ['a varint without end', header, Buffer.concat([good.subarray(0, 5), Buffer.alloc(20, 0xff)])],
    [
      'too many suspects',
      header,
      Buffer.concat([good.subarray(0, 4), Buffer.of(65), Buffer.alloc(200)]),
    ],
    [
      'a heartbeat below 1',
      { ...header, baseHb: 0 },
      Buffer.concat([good.subarray(0, 5), Buffer.alloc(20)]),
    ],
  ]
  for (const [why, head, body] of bad) t.equal(reader.read(head, body, 0), undefined, why)
  const full = makeTable(2)
  const others = [...Array(10).keys()].filter(origin => origin !== full.self)
  for (const origin of others) {
    const flags = origin % 3 === 0 ? FLAG.cloudCut : FLAG.kubeletWell
    const more = { origin, hb: 1 + origin ** 9, flags, cloudCutAt: -1e6, anyDown: origin % 2 === 0 }
    const draft = Object.assign(full.makeDraft(), more, { producedAt: clock.now() })
    draft.down.fill(1)
    full.merge(draft)
  }
  for (const sparse of [false, true]) {
    const whole = encode(full, sparse)
    const head = headerFor(full, sparse)
    t.ok(reader.read(head, whole, clock.now()))
    for (let end = 0; end < whole.length; end++)
      if (reader.read(head, whole.subarray(0, end), clock.now()) !== undefined)
        t.fail(`${end} of ${whole.length} bytes are no body`)
  }
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 400 }),
      fc.nat(300),
      fc.boolean(),
      (bytes, count, sparse) => {
        let taken = 0
        const head = { ...header, count, flags: sparse ? SPARSE : 0 }
        reader.read(head, Buffer.from(bytes), 0)
        reader.read(head, Buffer.from(bytes), 0, ({ origin }) => {
          if (origin >= 0 && origin < 10) taken++
        })
        return taken <= count
      },
    ),
    { numRuns: 3_000 },
  )
  fc.assert(
    fc.property(fc.nat(0x7_ffff_ffff), value => {
      const out = new Uint8Array(6)
      const end = writeVarint(out, 0, value)
      return new ByteReader(out.subarray(0, end)).varint() === value
    }),
  )
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** 32), max: 2 ** 32 }), n => unzigzag(zigzag(n)) === n),
  )
  t.end()
})

t.test('messages: only what was signed here, for this zone, with a known key', t => {
  const table = makeTable(1)
  const message = seal(headerFor(table, false), encode(table, false), zone, ring.primary)
  const opened = open(message, zone, ring)
  t.ok(opened.ok)
  if (opened.ok)
    t.same([opened.header, opened.body], [headerFor(table, false), encode(table, false)])
  t.ok(open(message, zone, makeKeyRing(KEY_B, KEY_A)).ok, 'the secondary key is accepted')
  const cases: [string, ReturnType<typeof open>][] = [
    ['wrong-zone', open(message, zoneHash('c', 'y'), ring)],
    ['wrong-zone', open(message, zoneHash('d', 'z'), ring)],
    ['unknown-key', open(message, zone, makeKeyRing(KEY_B))],
    ['malformed', open(message.subarray(0, 90), zone, ring)],
    ['bad-signature', open(Buffer.concat([message, Buffer.of(0)]), zone, ring)],
    ['wrong-version', open(Buffer.from(message).fill(1, 4, 5), zone, ring)],
    ['bad-signature', open(Buffer.from(message).fill(9, 70, 71), zone, ring)],
  ]
  for (const [refusal, result] of cases) t.match(result, { ok: false, refusal })
  fc.assert(
    fc.property(fc.nat(message.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const altered = Buffer.from(message)
      altered[at]! ^= change
      return !open(altered, zone, ring).ok
    }),
    { numRuns: 2_000 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), bytes => !open(bytes, zone, ring).ok),
    { numRuns: 2_000 },
  )
  t.end()
})

t.test('sessions: every request once, from one life, to one life', t => {
  const random = seededRandom(1)
  const session = new InboundSession()
  const admit = (senderBoot: bigint, destBoot: bigint, senderSeq: number, of = session): string =>
    of.admit({ senderBoot, destBoot, senderSeq, heldMs: 0 }, 1_000, 4_000).kind
  t.equal(admit(1n, 0n, 1), 'challenged', 'nobody is known at first')
  const shown = session.challenge(random, 1_000)
  t.equal(session.challenge(random, 1_000), shown, 'a challenge stays until it is answered')
  t.equal(admit(1n, shown, 2), 'accepted')
  t.equal(admit(1n, shown, 2), 'replayed')
  for (const [seq, want] of [
    [40, 'accepted'],
    [9, 'accepted'],
    [9, 'replayed'],
    [8, 'replayed'],
    [41, 'accepted'],
  ] as const)
    t.equal(admit(1n, shown, seq), want, `number ${seq}`)
  t.equal(admit(2n, shown, 1), 'challenged', 'a new life must answer for itself')
  const next = session.challenge(random, 1_000)
  t.equal(admit(2n, next, 1), 'accepted')
  t.equal(admit(1n, shown, 99), 'challenged', 'the life before it is over, even what was held back')
  t.equal(admit(1n, next, 99), 'challenged')
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 90 }), { maxLength: 80 }), seqs => {
      const fresh = new InboundSession()
      const boot = fresh.challenge(random, 1_000)
      const accepted = seqs.filter(seq => admit(5n, boot, seq, fresh) === 'accepted')
      return new Set(accepted).size === accepted.length
    }),
  )
  t.end()
})

t.test('FA13: sessions: by its own clock a receiver knows how long a request was under way', t => {
  const session = new InboundSession()
  let seq = 0
  let shown = session.challenge(seededRandom(2), 0)
  const admit = (heldMs: number, now: number): ReturnType<InboundSession['admit']> =>
    session.admit({ senderBoot: 1n, destBoot: shown, senderSeq: ++seq, heldMs }, now, 4_000)
  const first = admit(0, 30)
  t.ok(first.kind === 'accepted' && first.delayMs >= 30 && first.delayMs < 31)
  shown = session.next(10_000)
  const rows: [heldMs: number, now: number, want: string, why: string][] = [
    [0, 10_020, 'accepted', 'sent at once'],
    [160_000, 170_040, 'accepted', 'sent after a pause'],
    [160_000, 173_800, 'accepted', 'slow, and older by it'],
    [160_000, 174_000, 'late', 'too slow'],
    [160_000, 770_000, 'late', 'held back for ten minutes'],
    [200_000, 170_000, 'ahead', 'our clock stood still meanwhile'],
    [0xffff_ffff, 10_010, 'ahead', 'or it lies'],
  ]
  for (const [heldMs, now, want, why] of rows) t.equal(admit(heldMs, now).kind, want, why)
  for (const heldMs of [0, 1_000, 160_000, 900_000]) {
    for (const drift of [-1, 0, 1]) {
      const elapsed = heldMs + 100
      const held = Math.floor(heldMs * (1 + drift / 2_000))
      const { kind, ...rest } = admit(held, 10_000 + elapsed)
      t.equal(kind, 'accepted')
      t.ok(
        'delayMs' in rest && rest.delayMs >= 100,
        `never taken for younger: ${JSON.stringify(rest)}`,
      )
    }
  }
  t.match(admit(0, 8_000), { kind: 'ahead', byMs: 2_001 }, 'FA10: our clock was put back')
  shown += BigInt(101 * 24 * 3_600_000)
  t.equal(admit(0, 10_000).kind, 'challenged', 'a number that was never shown')
  t.end()
})

t.test('FA14: sessions: a sender put back to an older image of its memory is challenged', t => {
  const session = new InboundSession()
  const random = seededRandom(3)
  const admit = (destBoot: bigint, senderSeq: number): string =>
    session.admit({ senderBoot: 1n, destBoot, senderSeq, heldMs: 0 }, 50, 4_000).kind
  const shown = session.challenge(random, 0)
  for (let seq = 1; seq <= 100; seq++) t.equal(admit(shown, seq), 'accepted')
  t.equal(admit(shown, 20), 'replayed', 'its numbers were used')
  const again = session.challenge(random, 50)
  t.equal(admit(again, 21), 'accepted', 'it answers, and is heard at once')
  t.equal(admit(session.next(50), 22), 'accepted')
  t.equal(admit(shown, 101), 'challenged', 'what it said before it was put back is over')
  const quiet = session.next(50)
  for (let i = 0; i < 50; i++) {
    t.equal(admit(quiet, 21), 'replayed')
    session.challenge(random, 50)
  }
  t.equal(admit(quiet, 23), 'accepted', 'who repeats its requests does not shut it out')
  session.forget()
  t.equal(admit(quiet, 24), 'challenged', 'nothing shown before a pause counts after it')
  t.end()
})

t.test('keys that are weak, public or missing are refused', t => {
  const none = { secret: undefined, hmacConfig: undefined }
  const bad: [string, () => unknown][] = [
    ['no key at all', () => parseKeyRing(none)],
    ['an empty ConfigMap', () => parseKeyRing({ ...none, hmacConfig: { hmackey: '' } })],
    [
      'a Secret without primary',
      () => parseKeyRing({ secret: { secondary: KEY_B }, hmacConfig: { hmackey: KEY_A } }),
    ],
    ['too short', () => makeKeyRing('fifteen-bytes!!')],
    [
      "SuperEdge's published key",
      () => parseKeyRing({ ...none, hmacConfig: { hmackey: 'hSZbJsKAVmWTxRPi' } }),
    ],
    ['bytes that are no text', () => makeKeyRing('\ufffd'.repeat(16))],
  ]
  for (const [why, parse] of bad) t.throws(parse, { code: 'INVALID_INPUT' }, why)
  try {
    makeKeyRing('short-secret')
  } catch (error) {
    t.notMatch(String(error), /short-secret/, 'an error never shows the key')
  }
  t.ok(makeKeyRing('hSZbJsKAVmWTxRPi', undefined, { allowDefaultKey: true }))
  const both = parseKeyRing({ secret: { primary: KEY_A, secondary: KEY_B }, hmacConfig: undefined })
  t.equal(both.setHash, makeKeyRing(KEY_B, KEY_A).setHash, 'the set is the same in either order')
  t.not(both.setHash, makeKeyRing(KEY_A).setHash)
  t.equal(
    parseKeyRing({ secret: { primary: KEY_A, secondary: '' }, hmacConfig: undefined }).keys.length,
    1,
  )
  t.equal(
    parseKeyRing({ ...none, hmacConfig: { hmackey: KEY_A } }).primary.id,
    makeKeyRing(KEY_A).primary.id,
  )
  t.end()
})
