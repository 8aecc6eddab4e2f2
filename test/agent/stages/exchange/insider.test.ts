// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { readEntries } from '../../../../agent/identity/entries.js'
import { LINK_BYTES } from '../../../../agent/identity/link-chain.js'
import { generateNodeKeys, type NodeKeys } from '../../../../agent/identity/node-keys.js'
import {
  parseStatement,
  QUARTER_MS,
  sealStatement,
  type ReceivedStatement,
  type Statement,
} from '../../../../agent/identity/statement.js'
import { readSignedBody, type PlacedEntry } from '../../../../agent/stages/exchange/signed-body.js'
import type { Header } from '../../../../agent/stages/exchange/wire.js'
import { id64 } from '../../../../core/ids.js'
import type { Random } from '../../../../core/random.js'
import { ExchangeZone, memberAt } from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'
import { Insider, ZONE } from '../../../../testkit/zone/insider.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { share, shareOf } from '../../../../testkit/share.js'

const SECOND = 1_000
const TTL_MS = 60 * SECOND
const SLOT_MS = SECOND
/** Under way, and until the next exchange with whoever heard it first. */
const BEST_DELAY_MS = 500
/** 1 ms in a second. */
const MAX_DRIFT = 0.001

/** Node 0 is stolen: its keys are the insider's, and its agent is gone. */
const steal = async (size: number, seed = 1) => {
  const zone = new ExchangeZone(size, seed)
  const identities = new TestIdentities(zone.members.map(({ name }) => name))
  const boot = (n: number, savedEpoch = 0): void => {
    const o = { identity: 'require' } as const
    zone.start(n, { o, identities: identities.of(memberAt(n).name), savedEpoch })
  }
  for (let n = 0; n < size; n++) boot(n)
  await zone.clock.advance(40 * SECOND)
  zone.agents[0]!.kill()
  const insider = new Insider(zone, 0, identities)
  const honest = zone.agents.slice(1)
  const age = (at: number, of: number): number => {
    const { engine, index } = zone.agents[at]!
    return zone.clock.now() - engine.table.producedAt[index(of)]!
  }
  /** What member n last said, by whoever knows most of it. */
  const newsOf = (n: number, from: number): PlacedEntry => {
    const place = zone.agents[from]!.index(n)
    return insider.send(from, []).news.find(entry => entry.place === place)!
  }
  return { zone, identities, insider, honest, age, newsOf, boot }
}
type Stolen = Awaited<ReturnType<typeof steal>>

/**
 * Three votes of member 2 about member 3, while every honest agent is attacked again and again.
 * @returns after how many milliseconds each of them is known to all; 60 000 for never
 */
const votesUnder = async (
  { zone, honest }: Stolen,
  everyMs: number,
  attack: (to: number) => unknown,
): Promise<number[]> => {
  const attackUntil = async (isDone: () => boolean, mostMs: number): Promise<number> => {
    let ms = 0
    for (; ms < mostMs && !isDone(); ms += everyMs) {
      for (const { n } of honest) attack(n)
      await zone.clock.advance(everyMs)
    }
    return ms
  }
  const took: number[] = []
  await attackUntil(() => false, 20 * SECOND)
  for (const isDown of [true, false, true]) {
    zone.agents[2]!.vote(3, isDown)
    const isKnown = (): boolean => honest.every(({ n, knows }) => n === 3 || knows(2, 3) === isDown)
    took.push(await attackUntil(isKnown, 60 * SECOND))
    await attackUntil(() => false, 5 * SECOND)
  }
  return took
}

const statementOf = ({ entry }: PlacedEntry): ReceivedStatement => {
  if (entry.kind !== 'statement') throw new Error(entry.kind)
  return entry.received
}
const withStatement = (news: PlacedEntry, bytes: Uint8Array): PlacedEntry => {
  if (news.entry.kind !== 'statement') throw new Error(news.entry.kind)
  return {
    ...news,
    entry: {
      ...news.entry,
      age: 0,
      received: { ...news.entry.received, bytes: Buffer.from(bytes) },
    },
  }
}
/** Signed anew, with keys of the insider's choice, as of whom it likes. */
const signed = (statement: Statement, id: bigint, zoneHash = ZONE): Buffer => {
  const keys = generateNodeKeys()
  return sealStatement(statement, { zoneHash, id }, bytes => keys.sign(bytes))
}

/** All lies that an insider can tell about what member `n` said of member `target`. */
const lies = ({ zone, newsOf }: Stolen, n: number, target: number): [string, PlacedEntry][] => {
  const news = newsOf(n, n)
  const { statement, bytes } = statementOf(news)
  const id = id64(memberAt(n).name)
  const down = [id64(memberAt(target).name)]
  const later = { ...statement, down, time: statement.time + 1 }
  const rows: [string, Uint8Array][] = [
    ['signed by another', signed(later, id)],
    ['of another epoch', signed({ ...later, epoch: statement.epoch + 1 }, id)],
    ['of the last epoch', signed({ ...later, epoch: 0xffff_ffff }, id)],
    ['of another zone', signed(later, id, ZONE + 1n)],
    ['of another generation', signed({ ...later, generation: 2 }, id)],
    [
      'with the signature of another',
      Buffer.concat([signed(later, id).subarray(0, -64), bytes.subarray(-64)]),
    ],
    ['without a signature', Buffer.concat([signed(later, id).subarray(0, -64), Buffer.alloc(64)])],
  ]
  const another = statementOf(newsOf(n === 1 ? 2 : 1, n))
  const place = zone.agents[n]!.index(n)
  const { quarters } = (news.entry as Extract<PlacedEntry['entry'], { kind: 'statement' }>).progress
  const time = (statement.time + quarters + 20) & 255
  return [
    ...rows.map(([what, altered]): [string, PlacedEntry] => [what, withStatement(news, altered)]),
    ['what another said', withStatement(news, another.bytes)],
    ['a link of nobody', { place, entry: { kind: 'link', time, link: '07'.repeat(LINK_BYTES) } }],
    ['a time of a later slot', { place, entry: { kind: 'time', time } }],
  ]
}

const believedNothing = (t: Test, stolen: Stolen, what: string): void => {
  const { zone, honest } = stolen
  for (const { n, engine, index, knows } of honest)
    for (const { n: voter } of zone.agents)
      for (const { n: target } of zone.agents) {
        if (voter !== target && knows(voter, target))
          t.fail(`${what}: n${n} holds that n${voter} calls n${target} down`)
        if (engine.table.flags[index(voter)] !== 0)
          t.fail(`${what}: n${n} believes flags of n${voter}`)
      }
}

for (const size of share(t, [5, 3, 10], 1, 'sizes'))
  t.test(`N=${size}: a stolen node speaks for nobody else, whatever it says`, async t => {
    const stolen = await steal(size, size)
    const { zone, insider, honest, age } = stolen
    // Each lie takes a minute: two who hear it, about themselves and about each other, are enough.
    for (const { n: to } of honest.slice(0, 2))
      for (const { n: voter } of honest.slice(0, 2))
        for (const [what, lie] of lies(stolen, voter, to === 1 ? 2 : 1)) {
          // Nothing is owed any more: each lie is looked at.
          await zone.clock.advance(61 * SECOND)
          const before = age(to, voter)
          const outcome = insider.send(to, [lie])
          if (outcome.status !== 200) t.fail(`${what}: answered ${outcome.status}`)
          if (voter !== to && age(to, voter) < before)
            t.fail(`${what}: n${voter} looks younger with n${to}`)
          if (what === 'signed by another' || what === 'without a signature')
            believedNothing(t, stolen, what)
        }
    believedNothing(t, stolen, 'in the end')
    const refusals = honest
      .slice(0, 2)
      .map(({ engine }) => engine.status().refusals['bad-statement'] ?? 0)
    t.ok(
      refusals.every(count => count >= 3),
      `refused: ${refusals.join()}`,
    )
    for (const { n: at } of honest)
      for (const { n: of } of honest)
        if (at !== of && !(age(at, of) < 40 * SECOND)) t.fail(`n${at} does not hear n${of}`)
    // Nobody was silenced either.
    zone.agents[1]!.vote(2, true)
    const others = honest.filter(({ n }) => n > 2)
    const ms = await zone.until(() => others.every(agent => agent.knows(1, 2)), 5 * SECOND)
    t.ok(ms <= 300, `${ms} ms`)
    await zone.stop()
  })

t.test(
  'a dead node that an insider speaks for is fresh for no longer than a record, a slot and the least delay',
  async t => {
    for (const size of share(t, [5, 3, 10], 1, 'sizes')) {
      const stolen = await steal(size, size)
      const { zone, insider, honest, age, newsOf } = stolen
      const dead = size - 1
      const living = honest.filter(({ n }) => n !== dead)
      // It keeps every sign of life for itself.
      const kept: PlacedEntry[] = []
      for (let second = 0; second < 60; second++) {
        await zone.clock.advance(SECOND)
        kept.push(newsOf(dead, dead))
      }
      zone.agents[dead]!.kill()
      const diedAt = zone.clock.now()
      let freshUntil = diedAt
      for (let second = 0; second < 90; second++) {
        await zone.clock.advance(SECOND)
        for (const { n: to } of living) {
          // At the pace at which they were made, each as young as can be, and the newest with the end of its slot.
          for (const { place, entry } of [kept[second % kept.length]!, kept.at(-1)!]) {
            if (entry.kind !== 'statement') continue
            const slot = entry.received.statement.slot
            const quarters = entry.progress.quarters + slot - 1 - (entry.progress.quarters % slot)
            insider.send(to, [
              { place, entry: { ...entry, age: 0, progress: { ...entry.progress, quarters } } },
            ])
          }
          if (age(to, dead) < TTL_MS) freshUntil = zone.clock.now()
        }
      }
      const ms = freshUntil - diedAt
      t.ok(ms <= TTL_MS + SLOT_MS + BEST_DELAY_MS + SECOND, `N=${size}: fresh for ${ms / SECOND} s`)
      await zone.stop()
    }
  },
)

t.test(
  'a node that starts after the death is played the last five minutes of the dead one',
  async t => {
    const stolen = await steal(5)
    const { zone, insider, age, newsOf, boot } = stolen
    const kept: PlacedEntry[] = []
    for (let second = 0; second < 300; second++) {
      await zone.clock.advance(SECOND)
      kept.push(newsOf(4, 4))
    }
    zone.agents[4]!.kill()
    zone.agents[1]!.kill()
    await zone.clock.advance(70 * SECOND)
    boot(1)
    const bootedAt = zone.clock.now()
    let freshMs = 0
    for (const news of [...kept, ...kept.slice(-1)]) {
      await zone.clock.advance(SECOND)
      insider.send(1, [news])
      if (age(1, 4) < TTL_MS) freshMs = zone.clock.now() - bootedAt
    }
    t.comment(`fresh for ${freshMs / SECOND} s`)
    t.ok(freshMs <= 68.5 * SECOND, `fresh for ${freshMs / SECOND} s`)
    await zone.stop()
  },
)

t.test('of bad signatures that one member passes on ten a second are proved, after 30', async t => {
  const stolen = await steal(5)
  const { zone, insider, age } = stolen
  const proved = (): number => zone.agents[1]!.engine.status().identity.proved
  const all = lies(stolen, 2, 3).map(([, lie]) => lie)
  const before = proved()
  for (let message = 0; message < 200; message++) {
    await zone.clock.advance(50)
    insider.send(1, [all[message % 7]!])
  }
  const count = proved() - before
  t.ok(count > 50 && count <= 130, `${count} signatures proved in ten seconds`)
  t.ok(age(1, 2) < 40 * SECOND)
  await zone.stop()
})

t.test('wrong news that cost as much as they can silence nobody', async t => {
  const stolen = await steal(20)
  const { zone, insider, honest } = stolen
  const of = honest[0]!
  const known = insider
    .send(of.n, [])
    .news.flatMap(({ place, entry }) =>
      entry.kind === 'statement' && place !== of.index(0) ? [{ place, entry }] : [],
    )
  // The last time of the whole chain, with a link that has to be hashed all the way back.
  const wrong = known.map(({ place, entry }) => {
    const { slot, logLinks } = entry.received.statement
    const progress = { quarters: slot * 2 ** logLinks, link: '07'.repeat(LINK_BYTES) }
    return { place, entry: { ...entry, age: 0, progress } }
  })
  for (const ms of await votesUnder(stolen, 50, to => insider.send(to, wrong)))
    t.ok(ms <= 300, `known to all after ${ms} ms`)
  const wrongLinks = of.engine.status().refusals['bad-link'] ?? 0
  t.ok(wrongLinks > 10, `${wrongLinks} were proved wrong, each at ten times its cost`)
  await zone.stop()
})

t.test('forged statements that cost more than their sender may silence nobody', async t => {
  const stolen = await steal(8)
  const { zone, identities, insider, honest, newsOf } = stolen
  const thief = memberAt(0).name
  const longest = { slot: 32, logLinks: 11 }
  const link = '07'.repeat(LINK_BYTES)
  const progress = { quarters: longest.slot * 2 ** longest.logLinks, link }
  /** A statement of a member with the longest chain, all of which has to be hashed. @param later quarters of a second */
  const says = (n: number, later: number, keys: NodeKeys): ReceivedStatement => {
    const from = n === 1 ? 2 : 1
    const { statement } = statementOf(newsOf(n, from))
    const origin = { zoneHash: ZONE, id: id64(memberAt(n).name) }
    return parseStatement(
      sealStatement({ ...statement, ...longest, time: statement.time + later }, origin, bytes =>
        keys.sign(bytes),
      ),
    )!
  }
  const forger = generateNodeKeys()
  const own = says(0, 400, identities.keysOf(thief))
  const forged = new Map(honest.map(({ n }) => [n, says(n, 100_000, forger)]))
  const entryOf = (to: number, n: number, received: ReceivedStatement): PlacedEntry => ({
    place: zone.agents[to]!.index(n),
    entry: { kind: 'statement', received, age: 0, progress },
  })
  const attack = (to: number): void => {
    // Its own limit first: what is never proved costs no more than itself.
    insider.send(to, [entryOf(to, 0, own)])
    const lies = honest.flatMap(({ n }) => (n === to ? [] : [entryOf(to, n, forged.get(n)!)]))
    insider.send(
      to,
      lies.sort((a, b) => a.place - b.place),
    )
  }
  for (const ms of await votesUnder(stolen, 125, attack))
    t.ok(ms <= 500, `known to all after ${ms} ms`)
  await zone.stop()
})

t.test('forged epochs of a node that has just restarted do not silence it', async t => {
  const stolen = await steal(8)
  const { zone, insider, newsOf, boot } = stolen
  const before = statementOf(newsOf(2, 1)).statement
  zone.agents[2]!.kill()
  await zone.clock.advance(3 * SECOND)
  boot(2, before.epoch)
  await zone.clock.advance(2 * SECOND)
  const { statement } = statementOf(newsOf(2, 2))
  const forger = generateNodeKeys()
  const origin = { zoneHash: ZONE, id: id64(memberAt(2).name) }
  // So little later that it is not looked at yet, and costs nothing.
  const forged = parseStatement(
    sealStatement(
      { ...statement, epoch: statement.epoch + 1, time: statement.time + 1 },
      origin,
      bytes => forger.sign(bytes),
    ),
  )!
  const progress = { quarters: 0, link: undefined }
  const restarted = zone.agents[2]!
  const others = zone.agents.slice(1)
  let ms = 0
  const attack = async (): Promise<void> => {
    for (const { n, index } of others)
      if (n !== 2)
        insider.send(n, [
          { place: index(2), entry: { kind: 'statement', received: forged, age: 0, progress } },
        ])
    await zone.clock.advance(50)
  }
  for (let step = 0; step < 30; step++) await attack()
  restarted.vote(3, true)
  for (; ms < 30 * SECOND && !others.every(({ n, knows }) => n === 3 || knows(2, 3)); ms += 50)
    await attack()
  t.ok(ms <= 500, `known to all after ${ms} ms`)
  await zone.stop()
})

t.test('a message that names a node twice is refused', async t => {
  const { zone, insider, honest } = await steal(5)
  const { engine, index } = honest[0]!
  const id = engine.table.roster.members[index(2)]!.id
  const other = engine.table.roster.members[index(3)]!.id
  t.equal(insider.send(1, [], { ids: [other] }).status, 200)
  t.equal(insider.send(1, [], { ids: [id, other] }).status, 200)
  t.equal(insider.send(1, [], { ids: [id, other, id] }).status, 400)
  await zone.stop()
})

t.test('who asks for everything again and again is sent little', async t => {
  const size = 20
  const { zone, insider, age } = await steal(size)
  const first = insider.send(1, []).news
  t.equal(first.length, size, 'all that it lacks, the first time')
  let entries = 0
  for (let asked = 0; asked < 600; asked++) {
    await zone.clock.advance(50)
    const { news } = insider.send(1, [])
    entries += news.length
    t.ok(
      news.some(({ place }) => place === zone.agents[1]!.index(1)),
      'what the asked node itself says',
    )
  }
  t.ok(entries < 600 + 45 * size, `${entries} statements in 30 s and 600 answers`)
  await zone.clock.advance(60 * SECOND)
  t.equal(insider.send(1, []).news.length, size, 'all of it again, a minute later')
  t.ok(age(2, 1) < 20 * SECOND)
  await zone.stop()
})

t.test('a member that names nodes without end makes nobody else send more', async t => {
  const stolen = await steal(10)
  const { zone, identities, insider, honest, age, newsOf } = stolen
  const news = newsOf(0, 1)
  const { statement } = statementOf(news)
  const id = id64(memberAt(0).name)
  const keys = identities.keysOf(memberAt(0).name)
  const say = (ids: readonly bigint[]): void => {
    const time = statement.time + Math.ceil(zone.clock.now() / QUARTER_MS)
    const said = { ...statement, time, down: ids.slice(0, 4_000), notLooked: ids.slice(4_000) }
    const bytes = sealStatement(said, { zoneHash: ZONE, id }, content => keys.sign(content))
    insider.send(1, [withStatement(news, bytes)])
  }
  /** Bytes that the others send while it says something new of so many nodes each second. */
  const costs = async (names: number): Promise<number> => {
    const sent = (): number =>
      honest.reduce((sum, { engine }) => sum + engine.status().bytesSent, 0)
    const before = sent()
    for (let second = 1; second <= 30; second++) {
      await zone.clock.advance(SECOND)
      say(Array.from({ length: names }, (_, at) => BigInt(100 * at + second)))
    }
    return sent() - before
  }
  const refused = (): number => zone.agents[1]!.engine.status().refusals['long-statement'] ?? 0
  const few = await costs(1)
  const many = await costs(7_500)
  t.equal(refused(), 30)
  t.ok(many < 1.2 * few, `${many} bytes, ${few} while it says little`)
  for (const { n } of honest) if (n !== 1) t.ok(age(1, n) < 40 * SECOND, `n${n} is heard`)
  await costs(10 + 256)
  t.equal(refused(), 30)
  t.ok(age(5, 0) < 10 * SECOND, 'it is heard, also with a larger roster than ours')
  await zone.stop()
})

t.test('who signs different statements for one time is shown by name', async t => {
  const { zone, identities, insider, newsOf } = await steal(3)
  const news = newsOf(0, 1)
  const { statement } = statementOf(news)
  const id = id64(memberAt(0).name)
  const keys = identities.keysOf(memberAt(0).name)
  const time = statement.time + Math.ceil(zone.clock.now() / QUARTER_MS)
  const say = (down: readonly bigint[]): void => {
    const bytes = sealStatement({ ...statement, time, down }, { zoneHash: ZONE, id }, content => keys.sign(content)) // prettier-ignore
    insider.send(1, [withStatement(news, bytes)])
  }
  const { engine } = zone.agents[1]!
  const shown = (): object =>
    Object.fromEntries(engine.status().peers.map(peer => [peer.name, peer.equivocations]))
  const [stolen, honest] = [memberAt(0).name, memberAt(2).name]
  say([])
  t.strictSame(shown(), { [stolen]: 0, [honest]: 0 })
  say([id64(honest)])
  t.strictSame(shown(), { [stolen]: 1, [honest]: 0 })
  t.equal(engine.status().identity.equivocations, 1)
  await zone.stop()
})

/** One or two fields of a header that its sender made up; the rest is as it should be. */
const anyHeader = (random: Random): Partial<Header> => {
  const word = (): number => random.below(2 ** 32)
  const long = (): bigint => (BigInt(word()) << 32n) | BigInt(word())
  const lies: readonly (() => Partial<Header>)[] = [
    () => ({ type: random.below(256) }),
    () => ({ flags: random.below(256) }),
    () => ({ count: random.below(65_536) }),
    () => ({ heldMs: random.below(2) === 0 ? random.below(2_000) : word() }),
    () => ({ baseHb: word() }),
    () => ({ membershipHash: long() }),
    () => ({ senderBoot: long() }),
    () => ({ destBoot: long() }),
  ]
  const pick = (): Partial<Header> => lies[random.below(lies.length)]!()
  return { ...pick(), ...(random.below(2) === 0 ? pick() : {}) }
}

/** The body with one to three bytes changed, cut off, or with a part of it once more at its end. */
const anyChange = (random: Random, body: Buffer): Buffer => {
  const copy = Buffer.from(body)
  const changes = 1 + random.below(3)
  for (let change = 0; change < changes; change++) {
    const at = random.below(copy.length)
    const how = random.below(3)
    if (how === 0) copy[at]! ^= 1 << random.below(8)
    else if (how === 1) copy[at] = random.below(256)
    else return copy.subarray(0, at)
  }
  return random.below(8) === 0
    ? Buffer.concat([copy, copy.subarray(random.below(copy.length))])
    : copy
}

/** Of a statement, quarters of a second that its links may be hashed for; of a time or a link alone they are in one byte. */
const quartersOf = (entry: PlacedEntry['entry']): number => {
  if (entry.kind !== 'statement') return 255
  const { slot, logLinks } = entry.received.statement
  return Math.min(entry.progress.quarters, slot * 2 ** logLinks)
}

/** After so long its sender's limit is full again, were all of it forged: ten times its cost, of which 100 come back in a second. */
const owedMs = (body: Buffer, size: number): number => {
  const read = readSignedBody(body, false)
  let cost = 0
  if (read !== undefined)
    readEntries(read.entries, size, (_, entry) => (cost += 1 + quartersOf(entry) / 400))
  return (1_000 * 10 * cost) / 100
}

t.test('validly signed messages, altered: nothing is believed, nothing breaks', async t => {
  const messages = Number(process.env['EDGE_HEALTH_FUZZ'] ?? shareOf(t, 2_000, 500, 'messages'))
  const stolen = await steal(4)
  const { zone, insider, age, newsOf } = stolen
  const random = seededRandom(7)
  let passed = 0
  let read = 0
  for (const agent of zone.agents.slice(2)) agent.kill()
  const { engine, index } = zone.agents[1]!
  const proved = (): number => engine.status().identity.proved
  const real = [2, 3].map(n => newsOf(n, 1))
  // The last sign of life of one of them goes without the statement, too.
  const { place, entry } = real[1]!
  if (entry.kind !== 'statement') throw new Error(entry.kind)
  const time = (entry.received.statement.time + entry.progress.quarters) & 255
  const link = entry.progress.link ?? '00'.repeat(LINK_BYTES)
  const shorter: PlacedEntry[] = [real[0]!, { place, entry: { kind: 'link', time, link } }]
  const truth = [2, 3].map(n => ({ n, madeAt: engine.table.producedAt[index(n)]! }))
  let owed = 0
  const alter = (body: Buffer): Uint8Array => {
    const altered = anyChange(random, body)
    owed = owedMs(altered, engine.table.size)
    return altered
  }
  const believesNothing = (when: string): void => {
    believedNothing(t, { ...stolen, honest: [zone.agents[1]!] }, when)
    for (const { n, madeAt } of truth) {
      const ms = zone.clock.now() - age(1, n) - madeAt
      // The clocks of the two may run apart by so much.
      const driftMs = (zone.clock.now() - madeAt) * MAX_DRIFT
      if (ms > SLOT_MS + BEST_DELAY_MS + QUARTER_MS + driftMs)
        t.fail(`${when}: n${n} looks ${ms} ms younger than it is`)
    }
  }
  const before = proved()
  for (let message = 0; message < messages; message++) {
    // What the last message may have used of the limit is there again: each altered statement is looked at.
    await zone.clock.advance(Math.max(60, owed))
    const route = message % 4 < 2 ? 'gossip' : 'vote'
    const { status } = insider.send(1, message % 2 === 0 ? real : shorter, { alter, route })
    // Answered 400 or 200, so its signature was proved.
    if (status === 400 || status === 200) passed++
    if (status === 200) read++
    if (message % 1_000 === 0) believesNothing(`message ${message}`)
  }
  const signatures = proved() - before
  t.comment(
    `${passed} of ${messages} came past the MAC, ${read} were well-formed, ${signatures} altered statements were proved`,
  )
  t.equal(passed, messages, 'all came past the signature')
  t.ok(read > messages / 100, `${read} of ${messages} were well-formed`)
  t.ok(signatures > messages / 100, `${signatures} altered statements came to be proved`)
  believesNothing('in the end')
  const statuses = new Map<number, number>()
  for (let message = 0; message < messages / 4; message++) {
    await zone.clock.advance(60)
    const header = anyHeader(random)
    const route = message % 2 === 0 ? 'gossip' : 'vote'
    const { status } = insider.send(1, message % 3 === 0 ? shorter : real, { header, route })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  t.comment(`signed headers, altered: ${[...statuses].map(pair => pair.join(': ')).join(', ')}`)
  t.ok(
    [...statuses.keys()].every(status => status >= 200 && status < 500),
    'each was answered',
  )
  t.ok((statuses.get(200) ?? 0) > 0, 'some are taken in')
  believesNothing('after headers that lie')
  await zone.stop()
})
