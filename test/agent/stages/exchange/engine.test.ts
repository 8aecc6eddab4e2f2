// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { FLAG } from '../../../../vote/evidence.js'
import { makeKeyRing } from '../../../../agent/key-ring.js'
import {
  ExchangeZone,
  KEY_A,
  KEY_B,
  memberAt,
  membersTo,
  rosterOf,
} from '../../../../testkit/zone/exchange-zone.js'

/** Everybody but the judged node itself: pushes go to its observers, it learns with the next exchange. */
const everybodyKnows = (zone: ExchangeZone, voter: number, target: number, says = true): boolean =>
  zone.agents.every(agent => agent.n === target || agent.knows(voter, target) === says)

for (const [size, loss, withinMs] of [
  [3, 0, 200],
  [10, 0, 200],
  [64, 0, 200],
  [10, 0.3, 9_000],
  [64, 0.3, 15_000],
] as const) {
  t.test(`a flip reaches all of ${size} at ${loss * 100} % loss`, async t => {
    const zone = new ExchangeZone(size, 7).startAll()
    await zone.clock.advance(30_000)
    zone.network.loss = loss
    zone.agents[0]!.vote(1, true)
    zone.agents[0]!.engine.setBurst(true)
    const took = await zone.until(() => everybodyKnows(zone, 0, 1), 20_000)
    t.ok(took <= withinMs, `all know after ${took} ms, at most ${withinMs}`)
    for (const { engine, index, n } of zone.agents)
      if (n !== 1) t.equal(engine.table.downVotes[index(1)], 1)
    zone.agents[0]!.vote(1, false)
    t.ok(
      (await zone.until(() => everybodyKnows(zone, 0, 1, false), 20_000)) < 20_000,
      'and is taken back',
    )
    await zone.stop()
  })
}

for (const [loss, withinMs] of [
  [0, 300],
  [0.3, 3_000],
] as const) {
  t.test(
    `a crash at ${loss * 100} % loss: a majority of votes is everywhere soon after they are cast`,
    async t => {
      const zone = new ExchangeZone(64, 3).startAll()
      await zone.clock.advance(60_000)
      zone.network.loss = loss
      zone.network.powerOff(memberAt(5).address)
      zone.agents[5]!.kill()
      const live = zone.agents.filter(agent => agent.n !== 5)
      // Half the zone has seen it within a second, as after a call for votes; then burst is on.
      for (const agent of live.slice(0, 33)) {
        agent.vote(5, true)
        await zone.clock.advance(25)
      }
      live.forEach(agent => agent.engine.setBurst(true))
      const hasMajority = (): boolean =>
        live.every(agent => agent.engine.table.downVotes[agent.index(5)]! >= 33)
      const took = await zone.until(hasMajority, 20_000)
      t.ok(took <= withinMs, `everywhere after ${took} ms`)
      await zone.stop()
    },
  )
}

t.test('freshness, bytes and quiet: a zone at rest', async t => {
  const zone = new ExchangeZone(10, 5).startAll()
  await zone.clock.advance(120_000)
  const before = zone.network.sentBy(memberAt(0).address).bytes
  let oldest = 0
  for (let s = 0; s < 120; s++) {
    await zone.clock.advance(1_000)
    for (const { engine } of zone.agents)
      for (const at of engine.table.producedAt) oldest = Math.max(oldest, zone.clock.now() - at)
  }
  const perSecond = (zone.network.sentBy(memberAt(0).address).bytes - before) / 120
  t.ok(oldest < 30_000, `no record is older than ${oldest} ms`)
  t.ok(perSecond <= 250, `${perSecond.toFixed(0)} bytes a second`)
  for (const agent of zone.agents) {
    const { refusals } = agent.engine.status()
    t.same(
      Object.keys(refusals).filter(kind => kind !== 'challenged'),
      [],
      'nothing is refused',
    )
    t.ok(agent.saved.length >= 2 && agent.saved.length <= 9, 'the heartbeat is saved now and then')
  }
  await zone.stop()
})

t.test('partition and heal', async t => {
  const zone = new ExchangeZone(10, 11).startAll()
  await zone.clock.advance(30_000)
  const side = (n: number): boolean => n < 3
  const addresses = zone.members.map(member => member.address)
  zone.network.partition(addresses.slice(0, 3), addresses.slice(3))
  const cutAt = zone.clock.now()
  zone.agents.forEach(agent => agent.engine.setBurst(true))
  zone.agents.forEach((agent, n) => agent.vote(n === 0 ? 9 : 0, n === 0 || !side(n)))
  await zone.clock.advance(20_000)
  for (const { n, engine, index } of zone.agents) {
    for (let other = 0; other < 10; other++) {
      const isFresh = engine.table.producedAt[index(other)]! > cutAt + 500
      t.equal(isFresh, side(n) === side(other), `n${n} hears of n${other} only on its own side`)
    }
  }
  zone.network.healAll()
  zone.agents.forEach((agent, n) => agent.vote(n === 0 ? 9 : 0, false))
  const agree = (): boolean =>
    zone.agents.every(({ engine }) => engine.table.downVotes.every(d => d === 0))
  const took = await zone.until(agree, 20_000)
  t.ok(took <= 3_000, `one truth again ${took} ms after the link heals`)
  await zone.stop()
})

t.test('a restart with the clock set back and the disk lost', async t => {
  const zone = new ExchangeZone(5, 13).startAll()
  await zone.clock.advance(60_000)
  zone.agents[2]!.vote(4, true)
  await zone.clock.advance(1_000)
  t.ok(everybodyKnows(zone, 2, 4))
  zone.agents[2]!.kill()
  zone.clock.stepWall(-3_600_000)
  await zone.clock.advance(5_000)
  const again = zone.start(2)
  const peers = zone.agents.filter(agent => agent !== again)
  const took = await zone.until(
    () =>
      peers.every(
        agent =>
          !agent.knows(2, 4) &&
          zone.clock.now() - agent.engine.table.producedAt[agent.index(2)]! < 5_000,
      ),
    20_000,
  )
  t.ok(took <= 15_000, `its new word replaces the old one after ${took} ms`)
  t.ok(
    again.engine.table.hb[again.index(2)]! > 1_700_000_000,
    'by jumping over what others remember',
  )
  await zone.stop()
})

t.test('rosters that differ still understand each other, both ways', async t => {
  const zone = new ExchangeZone(6, 17)
  for (let n = 0; n < 6; n++) zone.start(n, { members: membersTo(n < 3 ? 6 : 7) })
  await zone.clock.advance(20_000)
  zone.agents[0]!.vote(5, true)
  zone.agents[5]!.vote(0, true)
  await zone.clock.advance(200)
  t.ok(everybodyKnows(zone, 0, 5), 'the smaller roster is heard by the larger')
  t.ok(everybodyKnows(zone, 5, 0), 'and the other way round')
  t.equal(
    zone.agents[0]!.engine.status().peers.find(peer => peer.name === 'n5')!.isSameRoster,
    false,
  )
  zone.agents[0]!.engine.suspect(zone.agents[0]!.index(4))
  await zone.clock.advance(200)
  for (const n of [1, 2, 3, 5]) t.same(zone.agents[n]!.suspected, ['n4'], 'calls for votes too')
  await zone.stop()
})

t.test(
  'a newcomer that the others do not know is refused, and heard once their rosters catch up',
  async t => {
    const zone = new ExchangeZone(4, 19)
    for (let n = 0; n < 3; n++) zone.start(n, { members: membersTo(3) })
    const newcomer = zone.start(3)
    newcomer.vote(0, true)
    await zone.clock.advance(20_000)
    const [first] = zone.agents
    t.equal(first!.engine.table.downVotes.join(), '0,0,0', 'a stranger has no vote')
    t.ok(first!.engine.status().refusals['unknown-sender']! > 0)
    t.match(
      newcomer.engine.status().peers.map(peer => peer.trouble),
      ['answered 403 unknown-sender'],
    )
    for (let n = 0; n < 3; n++) zone.agents[n]!.engine.setRoster(rosterOf(n, membersTo(4)))
    const took = await zone.until(() => everybodyKnows(zone, 3, 0), 30_000)
    t.ok(took < 20_000, `heard ${took} ms after the rosters are one`)
    await zone.stop()
  },
)

t.test('a call for votes makes the others probe once and answer', async t => {
  const zone = new ExchangeZone(5, 23).startAll()
  await zone.clock.advance(20_000)
  const [caller, ...others] = zone.agents
  const recordOf = (n: number): number => caller!.engine.table.producedAt[caller!.index(n)]!
  caller!.engine.suspect(caller!.index(1))
  caller!.engine.suspect(caller!.index(1))
  const votes: string[] = []
  zone.network.onWire = (body, route, kind) => {
    const count = Buffer.from(body).readUInt32LE(56)
    if (route === 'vote') votes.push(`${kind} ${count}`)
  }
  await zone.clock.advance(150)
  for (const agent of others) t.same(agent.suspected, agent.n === 1 ? [] : ['n1'], `n${agent.n}`)
  t.same(new Set(votes), new Set(['request 0', 'answer 0']), 'no records until there is news')
  zone.agents[3]!.vote(1, false)
  await zone.clock.advance(100)
  t.equal(votes.length, 6, 'that all is well is no news')
  await zone.clock.advance(1_000)
  const at = zone.clock.now()
  caller!.vote(1, true)
  caller!.engine.suspect(caller!.index(1))
  await zone.clock.advance(150)
  for (const n of [2, 3, 4])
    t.ok(recordOf(n) >= at, 'a call by who says down brings a fresh record')
  const ended = zone.clock.now()
  zone.agents[2]!.vote(1, false)
  await zone.clock.advance(100)
  t.ok(recordOf(2) >= ended, 'and is told of a round that does not agree')
  // Two have called: a third need not.
  zone.agents[2]!.engine.suspect(zone.agents[2]!.index(1))
  await zone.clock.advance(150)
  const sent = zone.agents[3]!.engine.status().messagesSent
  zone.agents[3]!.engine.suspect(zone.agents[3]!.index(1))
  await zone.clock.advance(60)
  t.equal(zone.agents[3]!.engine.status().messagesSent, sent, 'enough have called')
  await zone.stop()
})

t.test('flags travel like flips, and leaving is announced', async t => {
  const zone = new ExchangeZone(5, 29).startAll()
  await zone.clock.advance(20_000)
  const one = zone.agents[1]!
  const cutAt = zone.clock.now() - 30_000
  one.engine.setOwnFlags(FLAG.cloudCut | FLAG.kubeletWell, cutAt)
  await zone.clock.advance(100)
  for (const { engine, index, n } of zone.agents) {
    t.equal(engine.table.flags[index(1)], FLAG.cloudCut | FLAG.kubeletWell, `n${n} knows`)
    t.ok(Math.abs(engine.table.cloudCutAt[index(1)]! - cutAt) <= 1_000, 'since when')
  }
  const left = one.engine.leave()
  await zone.clock.advance(100)
  await left
  await one.engine.stop()
  await one.engine.stop()
  for (const { engine, index } of zone.agents)
    t.ok((engine.table.flags[index(1)]! & FLAG.leaving) !== 0, 'everybody knows')
  await zone.stop()
  await zone.clock.advance(5_000)
  t.equal(zone.clock.waiting, 0, 'a stopped exchange leaves no timer behind')
})

t.test('keys change one agent at a time without a lost vote', async t => {
  const zone = new ExchangeZone(4, 31).startAll({ keys: makeKeyRing(KEY_A) })
  await zone.clock.advance(20_000)
  let isDown = false
  const step = async (
    n: number,
    ring: ReturnType<typeof makeKeyRing>,
    what: string,
  ): Promise<void> => {
    zone.agents[n]!.engine.setKeys(ring)
    isDown = !isDown
    for (let voter = 0; voter < 4; voter++) zone.agents[voter]!.vote((voter + 1) % 4, isDown)
    await zone.clock.advance(200)
    for (let voter = 0; voter < 4; voter++)
      t.ok(
        everybodyKnows(zone, voter, (voter + 1) % 4, isDown),
        `${what} on n${n}: n${voter} is heard`,
      )
  }
  for (const [ring, what] of [
    [makeKeyRing(KEY_A, KEY_B), 'add'],
    [makeKeyRing(KEY_B, KEY_A), 'switch'],
    [makeKeyRing(KEY_B), 'drop'],
  ] as const) {
    for (let n = 0; n < 4; n++) await step(n, ring, what)
  }
  const shown = zone.agents[0]!.engine.status()
  t.ok(
    shown.peers.every(peer => peer.keySetHash === shown.keySetHash),
    'status shows one key set',
  )
  t.notOk('bad-signature' in shown.refusals)
  zone.agents[3]!.engine.setKeys(makeKeyRing('another-key-0123456789'))
  zone.agents[3]!.vote(0, !isDown)
  await zone.clock.advance(20_000)
  t.equal(zone.agents[1]!.knows(3, 0), isDown, 'a stranger to the key has no vote')
  t.ok(zone.agents[1]!.engine.status().refusals['unknown-key']! > 0)
  await zone.stop()
})

t.test('a roster change keeps votes, sessions and numbers', async t => {
  const zone = new ExchangeZone(5, 41).startAll()
  await zone.clock.advance(20_000)
  zone.agents[0]!.vote(1, true)
  await zone.clock.advance(100)
  for (const agent of zone.agents.slice(0, 4))
    agent.engine.setRoster(rosterOf(agent.n, membersTo(4)))
  zone.agents[4]!.kill()
  for (const agent of [0, 2, 3].map(n => zone.agents[n]!)) {
    t.ok(agent.knows(0, 1), 'the vote is carried over')
    t.equal(agent.engine.table.downVotes[agent.index(1)], 1)
  }
  const challenged = zone.agents[1]!.engine.status().refusals.challenged
  zone.agents[0]!.vote(2, true)
  await zone.clock.advance(100)
  t.ok(zone.agents.slice(0, 2).every(agent => agent.knows(0, 2)))
  t.equal(zone.agents[1]!.engine.status().refusals.challenged, challenged, 'no new challenge')
  for (const agent of zone.agents.slice(0, 4))
    agent.engine.setRoster(rosterOf(agent.n, membersTo(5)))
  zone.start(4)
  zone.agents[4]!.vote(0, true)
  t.ok((await zone.until(() => everybodyKnows(zone, 4, 0), 20_000)) < 2_000, 'who returns is heard')
  await zone.stop()
})
