// SPDX-License-Identifier: Apache-2.0
// How many signatures an agent proves, and whose, while several members that hold keys flood it.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import t from 'tap'
import { LINK_BYTES } from '../../../../agent/identity/link-chain.js'
import { generateNodeKeys, type NodeKeys } from '../../../../agent/identity/node-keys.js'
import {
  parseStatement,
  QUARTER_MS,
  sealStatement,
  type Statement,
} from '../../../../agent/identity/statement.js'
import type { OwnStatement } from '../../../../agent/identity/own-statement.js'
import { newMember } from '../../../../agent/stages/exchange/member-entry.js'
import { PeerState } from '../../../../agent/stages/exchange/peer-state.js'
import { Proofs } from '../../../../agent/stages/exchange/proofs.js'
import type { PlacedEntry } from '../../../../agent/stages/exchange/signed-body.js'
import { id64 } from '../../../../core/ids.js'
import { ExchangeZone, memberAt, rosterOf } from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'
import { Insider, ZONE } from '../../../../testkit/zone/insider.js'

const SECOND = 1_000
const PER_SECOND = 150
const AT_ONCE = 300
/** Of nobody. */
const LINK = '07'.repeat(LINK_BYTES)

/** Counted where Node.js does the work, not where the agent says so. */
let verified = 0
const { verify } = crypto
t.before(() => {
  crypto.verify = new Proxy(verify, {
    apply: (target, self, given) => {
      verified++
      return Reflect.apply(target, self, given) as unknown
    },
  })
  syncBuiltinESMExports()
})
t.teardown(() => {
  crypto.verify = verify
  syncBuiltinESMExports()
})

const FIRST: Statement = {
  ...{ generation: 1, epoch: 1, time: 4_000_000_000, slot: 4, logLinks: 10, flags: 0, cutFor: 0 },
  ...{ anchor: LINK, membershipHash: 0n, heartbeat: 1_000_000_000 },
  ...{ down: [], notLooked: [], standsInFor: [] },
}
const says = (
  n: number,
  keys: NodeKeys,
  change: Partial<Statement>,
): Extract<PlacedEntry['entry'], { kind: 'statement' }> => {
  const origin = { zoneHash: ZONE, id: id64(memberAt(n).name) }
  const bytes = sealStatement({ ...FIRST, ...change }, origin, content => keys.sign(content))
  const progress = { quarters: 0, link: undefined }
  return { kind: 'statement', received: parseStatement(bytes)!, age: 0, progress }
}

const zoneOf = (size: number) => {
  const zone = new ExchangeZone(size, 1)
  const identities = new TestIdentities(zone.members.map(({ name }) => name))
  const start = (n: number) =>
    zone.start(n, { o: { identity: 'require' }, identities: identities.of(memberAt(n).name) })
  return { zone, identities, start }
}

t.test('an agent proves 150 signatures in a second, 300 at once, whoever sends them', async t => {
  const { zone, identities, start } = zoneOf(41)
  const { engine, index } = start(0)
  const liars = Array.from({ length: 40 }, (_, k) => ({
    insider: new Insider(zone, k + 1, identities),
    n: k + 1,
    keys: identities.keysOf(memberAt(k + 1).name),
  }))
  // In the receiver's own name, which takes from the same limit.
  const forged = says(0, generateNodeKeys(), { epoch: 9_999 })
  let time = FIRST.time
  const everyMs = 50
  const seconds = 10
  const before = verified
  // By how much the window that has most is above the rate.
  let above = 0
  let most = 0
  for (let ms = 0; ms < seconds * SECOND; ms += everyMs) {
    const since = verified
    for (const { insider, n, keys } of liars) {
      // Rightly signed, and something new each time.
      const own = says(n, keys, { time: ++time })
      const news = [
        { place: index(0), entry: forged },
        { place: index(n), entry: own },
      ]
      insider.send(
        0,
        news.sort((a, b) => a.place - b.place),
      )
    }
    above += verified - since
    most = Math.max(most, above)
    above = Math.max(0, above - (everyMs * PER_SECOND) / SECOND)
    await zone.clock.advance(everyMs)
  }
  const all = verified - before
  t.ok(most <= AT_ONCE, `${most} at once`)
  t.ok(all >= 0.9 * PER_SECOND * seconds, `${all}: they ask for more`)
  t.ok(engine.status().identity.proved > 0.3 * all, 'right ones are among them')
  await zone.stop()
})

t.test('members that flood together with wrong news silence no healthy one', async t => {
  const size = 12
  const honestOnes = 4
  const { zone, identities, start } = zoneOf(size)
  for (let n = 0; n < size; n++) start(n)
  await zone.clock.advance(40 * SECOND)
  const honest = zone.agents.slice(0, honestOnes)
  const liars = zone.agents.slice(honestOnes).map(({ n, kill }) => {
    kill()
    return new Insider(zone, n, identities)
  })
  const known = liars[0]!
    .send(0, [])
    .news.flatMap(({ place, entry }) => (entry.kind === 'statement' ? [{ place, entry }] : []))
  const placeOf = (n: number): number => zone.agents[0]!.index(n)
  /** Links of nobody, each of which costs as much as a signature. */
  const cheap = (): PlacedEntry[] =>
    known.map(({ place, entry }) => {
      const ahead = Math.floor(zone.clock.now() / QUARTER_MS) + 400
      const progress = { quarters: ahead, link: LINK }
      return { place, entry: { ...entry, age: 0, progress } }
    })
  const forger = generateNodeKeys()
  const forged = (n: number): PlacedEntry => {
    const { statement } = known.find(({ place }) => place === placeOf(n))!.entry.received
    const later = { ...statement, slot: 32, time: statement.time + 100_000 }
    // It costs more than is left of the limit at any moment: what is never proved costs no more than itself.
    const progress = { quarters: 1_600, link: LINK }
    return { place: placeOf(n), entry: { ...says(n, forger, later), progress } }
  }
  const forgeries = honest.map(({ n }) => forged(n)).sort((a, b) => a.place - b.place)
  const statuses = new Set<number>()
  let turn = 0
  /** Each liar as often as it is heard, one after the other. @param isForging two of them forge what the healthy ones say */
  const attack = async (ms: number, isForging = true): Promise<void> => {
    const everyMs = 50 / liars.length
    for (let left = ms; left > 0; left -= everyMs) {
      const k = turn++ % liars.length
      for (const { n } of honest) {
        const others = (list: readonly PlacedEntry[]): readonly PlacedEntry[] =>
          list.filter(({ place }) => place !== placeOf(n))
        const says = others(isForging && k % 4 === 3 ? forgeries : cheap())
        statuses.add(liars[k]!.send(n, says).status)
      }
      await zone.clock.advance(everyMs)
    }
  }
  await attack(3 * SECOND, false)
  await attack(5 * SECOND)
  for (const isDown of [true, false, true]) {
    zone.agents[2]!.vote(3, isDown)
    const isKnown = (): boolean => honest.every(({ n, knows }) => n === 3 || knows(2, 3) === isDown)
    let ms = 0
    for (; ms < 30 * SECOND && !isKnown(); ms += 50) await attack(50)
    t.ok(ms <= 300, `known to all after ${ms} ms`)
    await attack(3 * SECOND)
  }
  t.strictSame([...statuses], [200], 'each message is taken in')
  const wrong = honest[0]!.engine.status().refusals['bad-link'] ?? 0
  t.ok(wrong > 1_000, `${wrong} wrong links were proved`)
  await zone.stop()
})

/** One member each, and what passes its statements on, in a zone in which 300 signatures are proved at once, or more. */
const provers = (size: number, zoneSize = 150) => {
  const members = Array.from({ length: size }, (_, n) => {
    const { name } = memberAt(n)
    const keys = generateNodeKeys()
    const pin = { node: name, uid: `u${n}`, generation: 1, keys: keys.public }
    const member = newMember(pin, { zoneHash: ZONE, id: id64(name) })
    const peer = new PeerState({ ...memberAt(n), id: id64(name) }, { index: n, port: 1, seq: 0 })
    return { member, keys, peer }
  })
  const proofs = new Proofs(zoneSize)
  /** @returns whether it was looked at */
  const prove = (of: number, by: number, now: number, quarters = 0): boolean => {
    const { member, keys } = members[of]!
    const entry = says(of, keys, { time: FIRST.time + Math.floor(now), logLinks: 11 })
    const progress = { quarters, link: quarters === 0 ? undefined : LINK }
    const { peer } = members[by]!
    return proofs.prove(member, { ...entry, progress }, { peer, now, delayMs: 0 }) !== undefined
  }
  return { proofs, members, prove }
}

t.test('of the 300 at once the last 50 are for what nodes say newly of themselves', async t => {
  const { prove } = provers(352)
  const ofOthers = Array.from({ length: 300 }, (_, n) => prove(n, (n + 1) % 300, 0))
  t.equal(ofOthers.filter(Boolean).length, 250)
  t.notOk(prove(300, 300, 0, 4_800), 'with 1200 links it pays like all others')
  const ofThemselves = Array.from({ length: 51 }, (_, n) => prove(300 + n, 300 + n, 0))
  t.strictSame(
    ofThemselves.slice(0, 50),
    Array.from({ length: 50 }, () => true),
  )
  t.notOk(ofThemselves[50], 'and then there are none')
  t.notOk(prove(0, 1, 100), 'what comes back is kept for them first')
  t.ok(prove(351, 351, 100))
})

t.test('in a zone of more than 150, two signatures of each member are proved at once', async t => {
  const size = 200
  const { zone, identities } = zoneOf(size)
  const smaller = rosterOf(0, zone.members.slice(0, size / 2))
  const { engine, index } = zone.start(0, {
    ...{ o: { identity: 'require' }, roster: smaller },
    identities: identities.of(memberAt(0).name),
  })
  const insiders = zone.members.map((_, n) => new Insider(zone, n, identities))
  const sendAll = (time: number): void => {
    for (let n = 1; n < size; n++) {
      const entry = says(n, identities.keysOf(memberAt(n).name), { time })
      insiders[n]!.send(0, [{ place: index(n), entry }])
    }
  }
  engine.setRoster(rosterOf(0, zone.members))
  await zone.clock.advance(SECOND)
  const before = verified
  for (const later of [1, 2]) sendAll(FIRST.time + later)
  t.equal(verified - before, 2 * (size - 1))
  sendAll(FIRST.time + 3)
  t.equal(verified - before, 2 * size, 'and no more')
  engine.setRoster(smaller)
  engine.setRoster(rosterOf(0, zone.members))
  sendAll(FIRST.time + 4)
  t.equal(verified - before, 2 * size, 'a list of members that changes brings nothing back')
  await zone.stop()
})

t.test('right after the start 300 are proved at once in a large zone, too', async t => {
  const { prove } = provers(20, 1_000)
  const provedFrom = (start: number): number => {
    let proved = 0
    for (let ms = 0; ms < 24; ms++)
      for (let n = 0; n < 20; n++) if (prove(n, n, start + ms)) proved++
    return proved
  }
  const first = provedFrom(0)
  t.ok(first >= 300 && first <= 304, `${first}, with what comes back meanwhile`)
  t.equal(provedFrom(20 * SECOND), 480, 'each member asked for 24')
})

t.test('in a large zone, too, the last 50 are for what nodes say newly of themselves', async t => {
  const { prove } = provers(160, 200)
  const start = 20 * SECOND
  let ofOthers = 0
  for (let ms = 0; ms < 5; ms++)
    for (let n = 0; n < 100; n++) if (prove(n, (n + 1) % 100, start + ms)) ofOthers++
  t.equal(ofOthers, 350)
  const ofThemselves = Array.from({ length: 60 }, (_, n) => prove(100 + n, 100 + n, start + 4))
  t.equal(ofThemselves.filter(Boolean).length, 50)
})

t.test('of one member 24 are proved at once by itself, and 24 through others', async t => {
  const { proofs, prove } = provers(60)
  const bySelf = Array.from({ length: 40 }, (_, k) => prove(0, 0, k))
  t.equal(bySelf.filter(Boolean).length, 24)
  const byOthers = Array.from({ length: 40 }, (_, k) => prove(1, 2 + k, 40 + k))
  t.equal(byOthers.filter(Boolean).length, 24)
  t.ok(prove(1, 1, 80), 'whatever others passed on of it, it is heard itself')
  // What was refused took nothing: of 300 are 49 gone and 50 for nodes themselves, and 84 come back in 560 ms.
  const before = proofs.proved
  for (let n = 2; n < 60; n++)
    for (let k = 0; k < 8; k++) prove(n, n === 59 ? 2 : n + 1, 81 + n * 8 + k)
  const left = proofs.proved - before
  t.ok(left >= 283 && left <= 286, `${left}`)
})

t.test(
  'one member costs 100 signatures a second by what it passes on, and 3 by what it says of itself',
  async t => {
    const limits = new PeerState(
      { ...memberAt(1), id: id64(memberAt(1).name) },
      { index: 0, port: 1, seq: 0 },
    ).proofLimits
    const inTenSeconds = (of: 'own' | 'relayed'): number => {
      let proved = 0
      for (let now = 0; now < 10 * SECOND; now += 5) if (limits[of].take(now)) proved++
      return proved
    }
    const relayed = inTenSeconds('relayed')
    t.ok(relayed >= 1_290 && relayed <= 1_300, `${relayed} passed on in ten seconds`)
    const own = inTenSeconds('own')
    t.ok(own >= 53 && own <= 54, `${own} of its own`)
  },
)

t.test('what is forged costs its peer ten times as much, and the member nothing', async t => {
  const { members, proofs, prove } = provers(3)
  const forger = generateNodeKeys()
  const { member } = members[0]!
  const { peer } = members[1]!
  const arrival = { peer, now: 0, delayMs: 0 }
  // 300 at once: 30 that are forged cost all of it.
  const taken = Array.from({ length: 40 }, (_, k) =>
    proofs.prove(member, says(0, forger, { time: FIRST.time + k }), arrival),
  )
  t.strictSame(
    taken.map(of => of?.kind),
    Array.from({ length: 40 }, (_, k) => (k < 30 ? 'forged' : undefined)),
  )
  t.ok(
    Array.from({ length: 8 }, (_, k) => prove(0, 2, k)).every(Boolean),
    'what others pass on of the member is still proved',
  )
  t.ok(prove(1, 1, 0), 'and what that peer says of itself is heard')
  t.notOk(prove(2, 1, 5), 'it still owes')
  t.ok(prove(2, 1, 20))
})

t.test('wrong links and wrong statements in our own name cost the same', async t => {
  const { members, proofs } = provers(2)
  const { member, keys } = members[0]!
  const { peer } = members[1]!
  const known = says(0, keys, {})
  const arrival = { peer, now: 0, delayMs: 0 }
  t.match(proofs.prove(member, known, arrival), { kind: 'newer' })
  const left = (): number => {
    let ones = 0
    while (peer.proofLimits.relayed.take(0)) ones++
    peer.proofLimits.relayed.giveBack(ones)
    return ones
  }
  t.equal(left(), 299)
  // Links of 100 quarters of a second cost as much as a quarter of a signature.
  const time = (FIRST.time + 100) % 256
  t.match(proofs.prove(member, { kind: 'link', time, link: LINK }, arrival), { reason: 'link' })
  t.match(proofs.prove(member, { kind: 'link', time, link: LINK }, arrival), { reason: 'link' })
  t.equal(left(), 294)
  const progress = { quarters: 400, link: LINK }
  t.match(proofs.prove(member, { ...known, progress }, arrival), { reason: 'link' })
  t.equal(left(), 284)
  const own = { refute: () => false } as unknown as OwnStatement
  t.notOk(proofs.refute(own, known.received, arrival))
  t.equal(left(), 274)
  const older = says(0, keys, { time: FIRST.time - 1 })
  t.match(proofs.prove(member, { ...older, progress }, arrival), { kind: 'known' })
  t.equal(left(), 274, 'what is older has nothing to prove')
})

t.test('a long message counts as one for each 8 KiB', async t => {
  const { zone, identities, start } = zoneOf(3)
  start(1)
  const insider = new Insider(zone, 0, identities)
  insider.send(1, [])
  await zone.clock.advance(10 * SECOND)
  const long = { shared: Buffer.alloc(40 << 10) }
  const statuses = Array.from({ length: 12 }, () => insider.send(1, [], long).status)
  // 40 at once, of which each of these takes a little more than five.
  t.strictSame(
    statuses.map(status => status === 429),
    Array.from({ length: 12 }, (_, k) => k >= 7),
  )
  t.equal(insider.send(1, []).status, 200, 'a short one is taken')
  await zone.stop()
})
