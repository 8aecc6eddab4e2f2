// SPDX-License-Identifier: Apache-2.0
// Nothing is believed younger than it is, and nobody is shut out for longer than a record counts.
import t from 'tap'
import { BodyWriter } from '../../../../agent/stages/exchange/body-writer.js'
import { MAX_HEARTBEAT } from '../../../../agent/records/heartbeat.js'
import { makeKeyRing, type KeyRing } from '../../../../agent/key-ring.js'
import type { Route } from '../../../../agent/ports/transport.js'
import { open, seal, TYPE, zoneHash, type Header } from '../../../../agent/stages/exchange/wire.js'
import {
  exchangeOptions,
  ExchangeZone,
  KEY_A,
  KEY_B,
  memberAt,
  type TestAgent,
} from '../../../../testkit/zone/exchange-zone.js'

const ZONE = zoneHash('test', 'z')
const ring = makeKeyRing(KEY_A)
const TTL = exchangeOptions.recordTtlMs

const headerOf = (body: Uint8Array): Header => {
  const message = open(body, ZONE, ring)
  if (!message.ok) throw new Error(message.refusal)
  return message.header
}

/** Requests from one agent to another, while `hold` says so: they do not arrive, and are kept here. */
const holdBack = (
  zone: ExchangeZone,
  to: TestAgent,
): { readonly held: { body: Uint8Array; route: Route; from: string }[]; release: () => void } => {
  const held: { body: Uint8Array; route: Route; from: string }[] = []
  const unlisten = zone.network.listen(to.address, (route, body, from) => {
    held.push({ body: body.slice(), route, from })
    return { status: 503, body: new Uint8Array(0) }
  })
  return {
    held,
    release: () => {
      unlisten()
      zone.network.listen(to.address, (route, body, from) => to.engine.receive(route, body, from))
    },
  }
}

const ageOf = (zone: ExchangeZone, { engine, index }: TestAgent, n: number): number =>
  zone.clock.now() - engine.table.producedAt[index(n)]!

t.test('FA13: a request held back for ten minutes is not believed', async t => {
  const zone = new ExchangeZone(2, 201).startAll()
  const [receiver, sender] = zone.agents as [TestAgent, TestAgent]
  await zone.clock.advance(30_000)
  const { held, release } = holdBack(zone, receiver)
  sender.vote(0, true)
  await zone.until(() => held.length > 0, 10_000)
  sender.kill()
  await zone.clock.advance(600_000)
  release()
  const before = ageOf(zone, receiver, 1)
  const heardAt = receiver.engine.status().peers[0]!.lastHeardAt
  for (const { route, body, from } of held)
    t.equal(receiver.engine.receive(route, body, from).status, 409)
  t.equal(ageOf(zone, receiver, 1), before)
  t.ok(before > 600_000)
  t.equal(receiver.engine.status().peers[0]!.lastHeardAt, heardAt)
  t.ok(receiver.engine.status().refusals.late! > 0)
  await zone.stop()
})

t.test('FA13: a message that was slow is as old as it took', async t => {
  const zone = new ExchangeZone(2, 202).startAll()
  const [receiver, sender] = zone.agents as [TestAgent, TestAgent]
  await zone.clock.advance(30_000)
  zone.network.slowDown(sender.address, 700)
  let youngest = Infinity
  const sentAt: number[] = []
  zone.network.onWire = (_, __, kind) => {
    if (kind === 'request') sentAt.push(zone.clock.now())
  }
  for (let i = 0; i < 40; i++) {
    const before = receiver.engine.table.hb[receiver.index(1)]
    const heartbeat = sender.engine.table.hb[sender.index(1)]
    await zone.clock.advance(500)
    const now = receiver.engine.table.hb[receiver.index(1)]
    if (now !== before && now === heartbeat) youngest = Math.min(youngest, ageOf(zone, receiver, 1))
  }
  t.ok(sentAt.length > 3)
  for (const [observer, of] of [
    [receiver, sender],
    [sender, receiver],
  ] as const) {
    const made = of.engine.table.producedAt[of.index(of.n)]!
    const known = observer.engine.table.producedAt[observer.index(of.n)]!
    const isSame =
      observer.engine.table.hb[observer.index(of.n)] === of.engine.table.hb[of.index(of.n)]
    if (isSame) t.ok(known <= made, `n${of.n} is not younger than it is: ${made - known} ms`)
    t.ok(zone.clock.now() - known < 25_000, 'and still heard')
  }
  t.notOk(receiver.engine.status().refusals.late, 'slow is not late')
  await zone.stop()
})

t.test('FA13: quiet zones pay nothing for it: no challenge after the first ones', async t => {
  const zone = new ExchangeZone(10, 203).startAll()
  await zone.clock.advance(240_000)
  const challenges = (): (number | undefined)[] =>
    zone.agents.flatMap(({ engine }) => {
      const { challenged, late, replayed } = engine.status().refusals
      return [challenged, late, replayed]
    })
  const before = challenges()
  await zone.clock.advance(600_000)
  t.same(challenges(), before)
  await zone.stop()
})

t.test('FA13: what waited while this agent stood still is challenged, not believed', async t => {
  const zone = new ExchangeZone(3, 204).startAll()
  const [resumed, sender] = zone.agents as [TestAgent, TestAgent, TestAgent]
  await zone.clock.advance(30_000)
  const { held, release } = holdBack(zone, resumed)
  sender.vote(2, true)
  await zone.until(() => held.length > 0, 10_000)
  release()
  // A paused machine: its clock did not move, so nothing seems to have taken any time.
  resumed.engine.resumed()
  t.equal(ageOf(zone, resumed, 1), Infinity, 'what is known is of an unknown age')
  for (const { route, body, from } of held)
    t.equal(resumed.engine.receive(route, body, from).status, 409, 'what waited is challenged')
  t.notOk(resumed.knows(1, 2))
  const took = await zone.until(() => ageOf(zone, resumed, 1) < 5_000, 30_000)
  t.ok(took < 30_000, `and heard again after ${took} ms`)
  t.ok(resumed.knows(1, 2))
  await zone.stop()
})

t.test('FA13: an answer to what was asked before a pause is no answer', async t => {
  const zone = new ExchangeZone(2, 205).startAll()
  const [asker, other] = zone.agents as [TestAgent, TestAgent]
  await zone.clock.advance(30_000)
  zone.network.slowDown(other.address, 300)
  const sentAt = (): number | null => asker.engine.status().peers[0]!.lastSentAt
  const before = sentAt()
  t.ok((await zone.until(() => sentAt() !== before, 15_000, 10)) < 15_000, 'it has asked')
  t.notOk(asker.engine.status().refusals['wrong-reply'])
  asker.engine.resumed()
  await zone.clock.advance(700)
  t.equal(asker.engine.status().refusals['wrong-reply'], 1)
  await zone.stop()
})

t.test(
  'FA14: an agent put back to an older image of its memory is heard within one exchange',
  async t => {
    const zone = new ExchangeZone(2, 206).startAll()
    const [receiver, restored] = zone.agents as [TestAgent, TestAgent]
    const requests: Header[] = []
    zone.network.onWire = (body, _, kind) => {
      if (kind === 'request') requests.push(headerOf(body))
    }
    await zone.clock.advance(60_000)
    zone.network.onWire = undefined
    const { id } = receiver.engine.table.roster.members[receiver.index(1)]!
    const ofRestored = requests.filter(({ senderId }) => senderId === id)
    restored.kill()
    await zone.clock.advance(1_000)
    // As its memory had it a while ago: same incarnation, numbers that are used up, a number that was shown long ago.
    const images = ofRestored.filter(({ destBoot }) => destBoot !== 0n).slice(-3)
    t.equal(images.length, 3)
    for (const old of images) {
      const writer = new BodyWriter(restored.engine.table)
      const order = { sparse: false, suspects: [], keySetHash: ring.setHash, baseHb: old.baseHb }
      const say = (change: Partial<Header>): { status: number; header: Header } => {
        const body = writer.encode(order, zone.clock.now())
        const bytes = seal({ ...old, type: TYPE.gossip, ...change }, body, ZONE, ring.primary)
        const { status, body: answer } = receiver.engine.receive(
          'gossip',
          bytes,
          memberAt(1).address,
        )
        return { status, header: headerOf(answer) }
      }
      const first = say({})
      t.equal(first.status, 409, 'its number was used: challenged')
      t.equal(first.header.type, TYPE.challenge)
      const destBoot = first.header.senderBoot
      t.equal(say({ destBoot, heldMs: 0, senderSeq: old.senderSeq + 1 }).status, 200, 'then heard')
    }
    await zone.stop()
  },
)

/** Somebody with the key speaks for n`as` to one agent, in a session of his own. */
class Liar {
  readonly #zone: ExchangeZone
  readonly #to: TestAgent
  readonly #keys: KeyRing
  readonly #as: number
  #shown = { number: 0n, at: 0 }
  #seq = 0

  constructor(zone: ExchangeZone, to: TestAgent, as: number, keys = ring) {
    this.#zone = zone
    this.#to = to
    this.#as = as
    this.#keys = keys
  }

  /** One state whose record of n`victim` has this heartbeat. */
  say(victim: number, hb: number): number {
    const { engine, index } = this.#to
    const { table } = engine
    const senderId = table.roster.members[index(this.#as)]!.id
    const baseHb = table.hb[index(this.#as)]!
    const writer = new BodyWriter(table)
    const honest = table.hb[index(victim)]!
    const since = table.producedAt[index(victim)]!
    const now = this.#zone.clock.now()
    for (;;) {
      table.hb[index(victim)] = hb
      table.producedAt[index(victim)] = now
      const order = { sparse: false, suspects: [], keySetHash: this.#keys.setHash, baseHb }
      const body = writer.encode(order, now)
      table.hb[index(victim)] = honest
      table.producedAt[index(victim)] = since
      const header: Header = {
        ...{ type: TYPE.gossip, flags: 0, membershipHash: table.hash, senderId, senderBoot: 4711n },
        ...{ senderSeq: ++this.#seq, baseHb, destBoot: this.#shown.number, count: table.size },
        heldMs: now - this.#shown.at,
      }
      const bytes = seal(header, body, ZONE, this.#keys.primary)
      const { status, body: answer } = engine.receive('gossip', bytes, '10.9.9.9')
      const reply = open(answer, ZONE, this.#keys)
      if (!reply.ok) return status
      this.#shown = { number: reply.header.senderBoot, at: now }
      if (reply.header.type !== TYPE.challenge) return status
    }
  }
}

for (const hb of [MAX_HEARTBEAT, 0xc000_0000 + 5, 0xc000_0000 - 5]) {
  t.test(`FA4: a record forged with heartbeat ${hb} silences nobody for ever`, async t => {
    const zone = new ExchangeZone(5, 207).startAll()
    const [, victim] = zone.agents as [TestAgent, TestAgent]
    const peers = zone.agents.filter(agent => agent !== victim)
    await zone.clock.advance(30_000)
    for (let second = 0; second < 30; second++) {
      for (const peer of peers) t.equal(new Liar(zone, peer, peer.n === 4 ? 3 : 4).say(1, hb), 200)
      await zone.clock.advance(1_000)
    }
    const isHeard = (peer: TestAgent): boolean => {
      const behind = victim.engine.table.hb[victim.index(1)]! - peer.engine.table.hb[peer.index(1)]!
      return behind >= 0 && behind < 60 && ageOf(zone, peer, 1) < 25_000
    }
    const took = await zone.until(() => peers.every(isHeard), 120_000, 500)
    t.ok(took <= TTL + 30_000, `heard again ${took} ms after the last lie, without a restart`)
    t.ok(victim.engine.table.hb[victim.index(1)]! < MAX_HEARTBEAT - 1e8, 'with numbers to spare')
    // The documented remedy: another key, and each agent restarts in its turn.
    for (const agent of [...zone.agents]) {
      agent.kill()
      zone.start(agent.n, { keys: makeKeyRing(KEY_B, KEY_A), savedHeartbeat: agent.saved.at(-1) })
      await zone.clock.advance(5_000)
    }
    await zone.clock.advance(60_000)
    for (const one of zone.agents)
      for (const other of zone.agents)
        t.ok(ageOf(zone, one, other.n) < 30_000, `n${one.n} hears n${other.n} after the rotation`)
    await zone.stop()
  })
}

t.test(
  'FA4: a saved heartbeat at the maximum, and clocks of 1970 and of 2099, are heard',
  async t => {
    const zone = new ExchangeZone(4, 208)
    zone.start(0)
    zone.start(1, { savedHeartbeat: MAX_HEARTBEAT })
    zone.clock.stepWall(-zone.clock.wall())
    zone.start(2)
    zone.clock.stepWall(Date.UTC(2099, 0, 1))
    zone.start(3)
    await zone.clock.advance(60_000)
    for (const one of zone.agents)
      for (const other of zone.agents)
        t.ok(ageOf(zone, one, other.n) < 25_000, `n${one.n} hears n${other.n}`)
    await zone.stop()
  },
)

t.test('FA12: one record beyond the maximum leaves its teller heard', async t => {
  const zone = new ExchangeZone(3, 209).startAll()
  const [receiver, teller] = zone.agents as [TestAgent, TestAgent]
  await zone.clock.advance(30_000)
  teller.engine.table.hb[teller.index(2)] = 0xffff_ffff
  await zone.clock.advance(30_000)
  t.ok(ageOf(zone, receiver, 1) < 15_000, 'it is heard')
  t.notOk(receiver.engine.status().refusals.malformed)
  await zone.stop()
})
