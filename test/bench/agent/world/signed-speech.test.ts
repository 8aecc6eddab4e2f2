// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { generateNodeKeys } from '../../../../agent/identity/node-keys.js'
import { readPublished } from '../../../../agent/stages/identity/own-keys.js'
import { parsePins } from '../../../../agent/stages/identity/remembered-pins.js'
import { makeKeyRing } from '../../../../agent/key-ring.js'
import { Engine } from '../../../../agent/stages/exchange/engine.js'
import { makeBoot } from '../../../../agent/stages/exchange/session.js'
import { TYPE } from '../../../../agent/stages/exchange/wire.js'
import { castOf, rosterOf } from '../../../../bench/agent/world/cast.js'
import { Records } from '../../../../bench/agent/world/records.js'
import { SignedSpeech } from '../../../../bench/agent/world/signed-speech.js'
import { WorldKeys } from '../../../../bench/agent/world/world-keys.js'
import { silentLog } from '../../../../core/log.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { exchangeOptions } from '../../../../testkit/zone/exchange-zone.js'

const KEYS = makeKeyRing('the key of a zone that is measured')
const TOPOLOGY = { meshMax: 64, ringObservers: 10 }

interface Zone {
  readonly clock: FakeClock
  readonly engine: Engine
  readonly speech: SignedSpeech
  /** A member exchanges with the agent. @returns the status of the answer that counts */
  readonly exchange: (member: number) => number
}

/** An agent among members of the world, who say that they have exchanged for a while. */
const zoneOf = (size: number): Zone => {
  const clock = new FakeClock()
  const random = seededRandom(1)
  const { members } = castOf(size, 90)
  const roster = rosterOf(members, members[0]!)
  const agent = roster.self
  const world = new WorldKeys(members.slice(1))
  for (const { name } of members.slice(1)) world.publish(name, `uid-${name}`)
  const own = { keys: generateNodeKeys(), generation: 1 }
  const { table, zone } = new Records(members, members[0]!, {
    clock,
    keys: KEYS,
    topology: TOPOLOGY,
  })
  const speech = new SignedSpeech(
    { table, zone, agent, exchangePeriodMs: size > 64 ? 2_000 : 5_000, slot: 4 },
    world,
    { clock, random, keys: KEYS },
  )
  const engine = new Engine(
    { ...exchangeOptions, ...TOPOLOGY, clusterId: '', identity: 'require' },
    {
      roster,
      keys: KEYS,
      savedHeartbeat: undefined,
      identities: { own, pins: new Map(parsePins(world.remembered).map(pin => [pin.node, pin])) },
    },
    {
      ...{ clock, random, log: silentLog },
      transport: { send: () => Promise.reject(new Error('not asked')), close: () => undefined },
      ...{ onEvidence: () => undefined, onSuspect: () => undefined },
      ...{ onSuspended: () => undefined, onUnknownIdentity: () => undefined },
      ...{ saveHeartbeat: () => undefined, saveEpoch: () => undefined, localUp: () => true },
    },
  )
  speech.meet(own.keys.public)
  const senderBoot = makeBoot(random)
  const talks = new Map<number, { shown: bigint; at: number; seq: number }>()
  const once = (member: number): number => {
    const talk = talks.get(member) ?? { shown: 0n, at: 0, seq: 0 }
    talks.set(member, talk)
    const heldMs = talk.shown === 0n ? 0 : Math.floor(clock.now() - talk.at)
    const header = {
      type: TYPE.gossip,
      senderBoot,
      senderSeq: ++talk.seq,
      destBoot: talk.shown,
      heldMs,
    }
    const { address } = roster.members[member]!
    const { status, body } = engine.receive('gossip', speech.message(member, header), address)
    const opened = speech.open(member, Buffer.from(body))
    if (!opened.ok) return status
    talk.shown = opened.header.senderBoot
    talk.at = clock.now()
    if (status === 200) speech.take(member, opened)
    return status
  }
  return {
    clock,
    engine,
    speech,
    exchange: member => {
      const status = once(member)
      return status === 409 ? once(member) : status
    },
  }
}

const othersIn = ({ engine }: Zone): readonly number[] =>
  [...engine.table.roster.members.keys()].filter(index => index !== engine.table.self)

for (const size of [10, 100])
  t.test(`an agent proves what ${size} members sign, and refuses nothing`, async t => {
    const zone = zoneOf(size)
    const { clock, engine, exchange } = zone
    const others = othersIn(zone)
    // Not all at once: the links of old statements cost more than the agent proves in one moment.
    for (const member of others) {
      t.equal(exchange(member), 200)
      await clock.advance(100)
    }
    // Each reports itself; in rings that is all that is sent unasked.
    const refusals = (): object => {
      const { challenged, ...rest } = engine.status().refusals
      t.equal(challenged, others.length, 'each talk begins with a challenge')
      return rest
    }
    t.same(refusals(), {})
    t.ok(others.every(index => clock.now() - engine.table.producedAt[index]! < 60_000))
    t.equal(engine.status().identity.proved, others.length, 'one signature of each')
    await clock.advance(20_000)
    for (const member of others) exchange(member)
    t.same(refusals(), {})
    t.ok(others.every(index => clock.now() - engine.table.producedAt[index]! <= 1_000))
    // Of 1 024 links 30 s use up 3 %: so many members had to sign anew.
    const anew = engine.status().identity.proved - others.length
    t.ok(anew <= others.length / 10, `${anew} signed anew, the rest was links`)
  })

t.test('statements follow each other when their links run out', async t => {
  const zone = zoneOf(10)
  const others = othersIn(zone)
  for (let minute = 0; minute < 20; minute++) {
    for (const member of others) zone.exchange(member)
    await zone.clock.advance(60_000)
  }
  const { proved } = zone.engine.status().identity
  t.ok(proved >= 2 * others.length && proved <= 3 * others.length, `${proved} signatures`)
  t.notOk(zone.engine.status().refusals['bad-link'])
})

t.test('an agent without a published key is not spoken with', async t => {
  const { clock } = zoneOf(3)
  const { members } = castOf(3, 90)
  const { table, zone } = new Records(members, members[0]!, {
    clock,
    keys: KEYS,
    topology: TOPOLOGY,
  })
  const agent = table.roster.indexOf(members[0]!.name)!
  const speech = new SignedSpeech(
    { table, zone, agent, exchangePeriodMs: 5_000, slot: 4 },
    new WorldKeys(members.slice(1)),
    { clock, random: seededRandom(1), keys: KEYS },
  )
  const header = { type: TYPE.gossip, senderBoot: 1n, senderSeq: 1, destBoot: 0n, heldMs: 0 }
  const index = (agent + 1) % 3
  t.notOk(speech.isReady)
  t.throws(() => speech.message(index, header), { message: /published no identity/ })
  t.match(speech.open(index, Buffer.alloc(200)), { ok: false, refusal: 'unsigned' })
})

t.test('what a Node of the world says of its keys can be proved by anybody', async t => {
  const [member] = castOf(1, 90).members
  const world = new WorldKeys([member!])
  t.ok(
    readPublished(world.publish(member!.name, 'uid'))?.keys.signing.equals(
      world.of(member!.name)!.public.signing,
    ),
  )
  t.equal(world.publish(castOf(2, 90).members[1]!.name, 'uid'), undefined)
})
