// SPDX-License-Identifier: Apache-2.0
import fc from '../support/properties.js'
import t from 'tap'
import { BodyCodec, maxMessageBytes } from '../../agent/commun/body.js'
import { Heartbeat, MAX_HEARTBEAT } from '../../agent/commun/heartbeat.js'
import { makeKeyRing, parseKeyRing } from '../../agent/commun/key-ring.js'
import { meshTopology } from '../../agent/commun/mesh.js'
import { InboundSession } from '../../agent/commun/session.js'
import { FLAG_MASK, RecordTable, type RecordDraft } from '../../agent/commun/table.js'
import type { Topology } from '../../agent/commun/topology.js'
import { ByteReader, unzigzag, writeVarint, zigzag } from '../../agent/commun/varint.js'
import { open, seal, SPARSE, TYPE, zoneHash, type Header } from '../../agent/commun/wire.js'
import { FLAG } from '../../vote/evidence.js'
import { KEY_A, KEY_B, membersTo, rosterOf } from '../support/exchange-zone.js'
import { FakeClock } from '../support/fake-clock.js'
import { seededRandom } from '../support/seeded-random.js'

const clock = new FakeClock(100_000_000)
const makeTable = (self: number, members = membersTo(10), topology = meshTopology): RecordTable =>
  new RecordTable(rosterOf(self, members), topology(members.length), {
    clock,
    heartbeat: new Heartbeat(clock, undefined, () => undefined),
    settleMs: 16_000,
  })

interface Said {
  readonly origin: number
  readonly hb: number
  readonly flags: number
  readonly down: readonly number[]
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
    }
  })

const mergeAll = (table: RecordTable, list: readonly Said[]): RecordTable => {
  const draft = table.makeDraft()
  for (const { origin, hb, flags, down } of list) {
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
      for (let i = 0; i < 10; i++) if (once.saysDown(i, i)) return false
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
  t.equal(table.setOwnVote(self, true, 1), false, 'nobody judges itself')
  t.equal(table.setOwnVote(target, true, 1), true)
  t.equal(table.setOwnVote(target, true, 2), false, 'the same again is no flip')
  t.same([table.failedRounds[target], table.downVotes[target], table.downCount[self]], [2, 1, 1])
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
    { clock, heartbeat: new Heartbeat(clock, undefined, () => undefined), settleMs: 16_000 },
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
  const end = new Heartbeat(clock, undefined, () => undefined)
  end.refute(MAX_HEARTBEAT)
  t.equal(end.next(), MAX_HEARTBEAT, 'and never wraps')
  t.equal(
    new Heartbeat(new FakeClock(0, 2 ** 32 * 1000), 7, () => undefined).value,
    23,
    'an absurd clock is not believed',
  )
  t.end()
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
})
const encode = (table: RecordTable, sparse: boolean, suspects: number[] = []): Buffer =>
  new BodyCodec(table).encode(
    { sparse, suspects, keySetHash: ring.setHash, baseHb: table.hb[table.self]! },
    clock.now(),
  )

/** Two slots each, as rings would have them: a topology that is not the mesh. */
const pairs = (size: number): Topology => ({
  ...meshTopology(size),
  kind: 'kring',
  slots: 2,
  standInSlots: 0,
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
        from.setOwnVote(from.topology.targetsOf(from.self)[0]!, true, 1)
        from.beat()
        const to = makeTable(9, membersTo(10), topology)
        const codec = new BodyCodec(to)
        const body = encode(from, sparse, [2, 5])
        const header = headerFor(from, sparse)
        const head = codec.read(header, body, clock.now())
        codec.read(header, body, clock.now(), draft => to.merge(draft))
        t.same(head?.suspects, [2, 5])
        t.equal(head?.keySetHash, ring.setHash)
        for (let i = 0; i < 10; i++) {
          if (i === to.self) continue
          t.same(
            [to.hb[i], to.flags[i], to.foreign[i], to.producedAt[i], to.cloudCutAt[i]],
            [from.hb[i], from.flags[i], from.foreign[i], from.producedAt[i], from.cloudCutAt[i]],
          )
          for (let target = 0; target < 10; target++)
            t.equal(to.saysDown(i, target), from.saysDown(i, target))
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
  const codec = new BodyCodec(to)
  codec.read(headerFor(old, false), encode(old, false), clock.now(), record => to.merge(record))
  t.same(
    [to.hb[5], to.producedAt[5]],
    [1_600_000_000, -Infinity],
    'too old for the age byte: the heartbeat still travels',
  )
  t.notOk(
    codec.canRead(headerFor(makeTable(1, membersTo(9)), false)),
    'places of another roster are not read',
  )
  t.notOk(
    codec.canRead(headerFor(makeTable(1, membersTo(10), pairs), false)),
    'nor of another topology',
  )
  t.end()
})

t.test('bodies that lie are refused as a whole', t => {
  const table = makeTable(0)
  const codec = new BodyCodec(table)
  const header = headerFor(makeTable(1), false)
  const good = encode(makeTable(1), false)
  t.ok(codec.read(header, good, 0))
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
  for (const [why, head, body] of bad) t.equal(codec.read(head, body, 0), undefined, why)
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 400 }),
      fc.nat(300),
      fc.boolean(),
      (bytes, count, sparse) => {
        let taken = 0
        const head = { ...header, count, flags: sparse ? SPARSE : 0 }
        codec.read(head, Buffer.from(bytes), 0)
        codec.read(head, Buffer.from(bytes), 0, ({ origin }) => {
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
    ['malformed', open(Buffer.concat([message, Buffer.of(0)]), zone, ring)],
    ['wrong-version', open(Buffer.from(message).fill(2, 4, 5), zone, ring)],
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
  t.equal(session.admit(1n, 0n, 1), 'challenged', 'nobody is known at first')
  const shown = session.challenge(random)
  t.equal(session.challenge(random), shown, 'a challenge stays until it is answered')
  t.equal(session.admit(1n, shown, 2), 'accepted')
  t.equal(session.admit(1n, shown, 2), 'replayed')
  for (const [seq, want] of [
    [40, 'accepted'],
    [9, 'accepted'],
    [9, 'replayed'],
    [8, 'replayed'],
    [41, 'accepted'],
  ] as const)
    t.equal(session.admit(1n, shown, seq), want, `number ${seq}`)
  t.equal(session.admit(2n, shown, 1), 'challenged', 'a new life must answer for itself')
  const next = session.challenge(random)
  t.equal(session.admit(2n, next, 1), 'accepted')
  t.equal(
    session.admit(1n, shown, 99),
    'challenged',
    'the life before it is over, even what was held back',
  )
  t.equal(session.admit(1n, next, 99), 'challenged')
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 90 }), { maxLength: 80 }), seqs => {
      const fresh = new InboundSession()
      const boot = fresh.challenge(random)
      const accepted = seqs.filter(seq => fresh.admit(5n, boot, seq) === 'accepted')
      return new Set(accepted).size === accepted.length
    }),
  )
  t.end()
})

t.test('S1: nothing weak, nothing public, nothing missing', t => {
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
