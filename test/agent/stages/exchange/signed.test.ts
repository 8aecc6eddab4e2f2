// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { makeKeyRing } from '../../../../agent/key-ring.js'
import { refusalAnswer } from '../../../../agent/stages/exchange/replies.js'
import { isOfPair } from '../../../../agent/stages/exchange/wire.js'
import { share } from '../../../../testkit/share.js'
import {
  ExchangeZone,
  KEY_A,
  KEY_B,
  memberAt,
  type TestAgent,
} from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'
import { FLAG } from '../../../../vote/evidence.js'

const start = (size: number, mode: 'off' | 'prefer' | 'require', seed = 1) => {
  const zone = new ExchangeZone(size, seed)
  const identities = new TestIdentities(zone.members.map(({ name }) => name))
  zone.members.forEach(({ name }, n) => {
    const known = mode === 'off' ? {} : { identities: identities.of(name) }
    zone.start(n, { o: { identity: mode }, ...known })
  })
  return { zone, identities }
}
const ageAt = (zone: ExchangeZone, at: number, of: number): number => {
  const { engine, index } = zone.agents[at]!
  return zone.clock.now() - engine.table.producedAt[index(of)]!
}

/** Its agent says that it leaves, and stops. */
const leave = async (zone: ExchangeZone, n: number): Promise<void> => {
  const agent = zone.agents[n]!
  const left = agent.engine.leave()
  await zone.clock.advance(1_000)
  await left
  agent.kill()
}

for (const size of share(t, [2, 3, 10, 66], 3, 'sizes'))
  t.test(`a zone of ${size} that requires identities hears everybody`, async t => {
    const { zone } = start(size, 'require', size)
    await zone.clock.advance(60_000)
    for (let n = 0; n < size; n++)
      for (let other = 0; other < size; other++)
        if (n !== other && !(ageAt(zone, n, other) < 40_000))
          t.fail(`n${n} heard of n${other} ${ageAt(zone, n, other)} ms ago`)
    const refused = zone.agents.flatMap(({ engine }) => Object.entries(engine.status().refusals))
    t.strictSame(
      refused.filter(([why]) => why !== 'challenged'),
      [],
    )
    const { topology } = zone.agents[0]!.engine.table
    const self = zone.agents[0]!.index(0)
    const target = topology.targetsOf(self)[0]!
    const flipped = zone.agents.findIndex(({ index, n }) => index(n) === target)
    zone.agents[0]!.vote(flipped, false)
    zone.agents[0]!.vote(flipped, true)
    const observers = [...topology.observersOf(target)]
    const others = zone.agents.filter(({ n, index }) => n !== 0 && observers.includes(index(n)))
    t.equal(others.length, observers.length - 1)
    const ms = await zone.until(() => others.every(agent => agent.knows(0, flipped)), 30_000)
    t.ok(ms <= 200, `a vote reached those whom it concerns in ${ms} ms`)
    zone.agents[0]!.engine.setOwnFlags(FLAG.kubeletWell | FLAG.cloudCut, zone.clock.now() - 5_000)
    const ms2 = await zone.until(
      () => zone.agents.every(({ engine, index }) => engine.table.flags[index(0)] === 24),
      30_000,
    )
    t.ok(ms2 < 30_000, `flags reached all in ${ms2} ms`)
    for (const { n, engine, index } of zone.agents) {
      const error = zone.clock.now() - ms2 - 5_000 - engine.table.cloudCutAt[index(0)]!
      if (n !== 0 && Math.abs(error) > (size > 64 ? 5_000 : 1_500))
        t.fail(`n${n} is wrong about the cut by ${error} ms`)
    }
    await zone.stop()
  })

t.test('bytes per node and second in a quiet zone', async t => {
  const bars = [
    [10, 120],
    [70, 450],
  ] as const
  for (const [size, most] of share(t, bars, 1, 'sizes')) {
    const { zone } = start(size, 'require', size)
    await zone.clock.advance(40_000)
    const sent = (): number => zone.agents.reduce((sum, { engine }) => sum + engine.bytesSent, 0)
    const before = sent()
    const ms = size === 10 ? 120_000 : 20_000
    await zone.clock.advance(ms)
    const bytes = (sent() - before) / size / (ms / 1_000)
    t.ok(bytes <= most, `N=${size}: ${bytes.toFixed(0)} B/s, at most ${most}`)
    const ages = zone.agents.flatMap(({ n }) =>
      zone.agents.flatMap(({ n: other }) => (n === other ? [] : [ageAt(zone, n, other)])),
    )
    ages.sort((a, b) => a - b)
    t.ok(
      ages[Math.floor(ages.length * 0.99)]! < 30_000,
      `age p50 ${ages[ages.length >> 1]!}, p99 ${ages[Math.floor(ages.length * 0.99)]!}`,
    )
    await zone.stop()
  }
})

t.test(
  'members without an identity take part where it is preferred, and do not count where it is required',
  async t => {
    for (const mode of ['prefer', 'require'] as const) {
      const zone = new ExchangeZone(6, 3)
      const signing = new Set(zone.members.slice(0, 3).map(({ name }) => name))
      const identities = new TestIdentities([...signing])
      for (const [n, { name }] of zone.members.entries())
        zone.start(
          n,
          signing.has(name) ? { o: { identity: mode }, identities: identities.of(name) } : {},
        )
      await zone.clock.advance(60_000)
      for (const { n, engine, index } of zone.agents)
        for (const other of zone.agents) {
          if (n === other.n) continue
          const isHeard = ageAt(zone, n, other.n) < 60_000
          const isWanted = mode === 'prefer' || n < 3 === other.n < 3
          if (isHeard !== isWanted) t.fail(`${mode}: n${n} hears n${other.n}: ${isHeard}`)
          if (isWanted) t.equal(engine.table.hb[index(other.n)]! > 0, true)
        }
      // Agents without identities hear of a signed vote, from its origin or from others.
      zone.agents[0]!.vote(5, true)
      const others = mode === 'prefer' ? zone.agents.slice(1, 5) : zone.agents.slice(1, 3)
      const ms = await zone.until(() => others.every(agent => agent.knows(0, 5)), 10_000)
      t.ok(ms <= 1_000, `${mode}: ${ms} ms`)
      await zone.stop()
    }
  },
)

t.test('whoever has the key of the zone alone speaks for nobody who has an identity', async t => {
  for (const [mode, hasLeft] of [
    ['prefer', false],
    ['prefer', true],
    ['require', false],
    ['require', true],
  ] as const) {
    const { zone, identities } = start(4, mode)
    await zone.clock.advance(30_000)
    // The rogue knows the zone's key, and speaks as n3, which is gone. With prefer it does not hold its address.
    if (hasLeft) await leave(zone, 3)
    else zone.agents[3]!.kill()
    if (mode === 'prefer')
      for (const { address } of zone.agents.slice(0, 3))
        zone.network.hold(address, memberAt(3).address)
    const rogue = zone.start(3, { o: { identity: 'off' } })
    rogue.vote(1, true)
    await zone.clock.advance(120_000)
    for (const agent of zone.agents.slice(0, 3))
      t.notOk(agent.knows(3, 1), `${mode}: its word is not believed without its signature`)
    t.ok((zone.agents[0]!.engine.status().refusals.unsigned ?? 0) > 0)
    t.ok(zone.agents[0]!.unknown.includes(memberAt(3).name), 'its Node is asked for')
    // It gave its identity up.
    for (const { engine, n } of zone.agents.slice(0, 3))
      engine.setIdentities(identities.of(memberAt(n).name, name => name !== memberAt(3).name))
    await zone.clock.advance(30_000)
    t.equal(zone.agents[0]!.knows(3, 1), mode === 'prefer', 'as before')
    await zone.stop()
  }
})

/** With its old keys, and with what its agent is like that has none of them. */
const keyless = (mode: 'prefer' | 'off', identities: TestIdentities, n: number) => {
  if (mode === 'off') return { o: { identity: mode } }
  identities.renew(memberAt(n).name)
  return { o: { identity: mode }, identities: identities.of(memberAt(n).name) }
}

for (const [mode, sizes] of [
  ['off', [2, 10, 66]],
  ['prefer', [2, 3, 10]],
] as const)
  for (const size of share(t, sizes, 2, 'sizes'))
    t.test(
      `N=${size}: with prefer a node without its keys counts at its address (${mode})`,
      async t => {
        const { zone, identities } = start(size, 'prefer', size)
        await zone.clock.advance(30_000)
        const before = identities.of(memberAt(1).name)
        const own = { o: { identity: 'prefer' as const }, identities: before }
        zone.agents[1]!.kill()
        zone.start(1, keyless(mode, identities, 1))
        const others = zone.agents.filter(({ n }) => n !== 1)
        const oldest = (): number => Math.max(...others.map(({ n }) => ageAt(zone, n, 1)))
        const isSigned = (n: number): boolean =>
          zone.agents[n]!.engine.status().peers.find(({ name }) => name === memberAt(1).name)!
            .isSigned
        await zone.clock.advance(10_000)
        t.ok(
          others.every(({ n }) => isSigned(n)),
          'its last word counts still, so whoever is there has to sign',
        )
        let most = 0
        for (let ms = 0; ms < 120_000; ms += 1_000) {
          await zone.clock.advance(1_000)
          most = Math.max(most, oldest())
        }
        t.ok(most < 60_000, `heard all the while: ${most} ms ago at most`)
        t.notOk(others.some(({ n }) => isSigned(n)))
        for (const { n } of others) t.ok(ageAt(zone, 1, n) < 45_000, `and it hears n${n}`)
        t.match(
          zone.agents[0]!.log.lines.filter(({ message }) => message.includes('does not sign')),
          { length: 1 },
          'it is logged, once',
        )
        zone.agents[1]!.kill()
        zone.start(1, own)
        const ms = await zone.until(() => others.every(({ n }) => isSigned(n)), 120_000)
        t.ok(ms < 60_000, `it signs again after ${ms} ms, and nothing else counts`)
        await zone.clock.advance(40_000)
        t.ok(oldest() < 40_000)
        await zone.stop()
      },
    )

/** Somebody at another address who has the key of the zone, and says in the node's name that all others are down. */
const startRogue = (zone: ExchangeZone, n: number): TestAgent => {
  const real = zone.agents[n]!
  const rogue = zone.start(n, {
    address: `10.99.0.${n}`,
    o: { exchangePeriodMs: 300, burstPeriodMs: 300, partnerBackoffMs: 100 },
    savedHeartbeat: 3_000_000_000,
  })
  zone.agents[n] = real
  for (let target = 0; target < zone.members.length; target++)
    if (target !== n) rogue.vote(target, true)
  return rogue
}

/** A version without identities, which calls messages of a pair malformed. */
const startOld = (zone: ExchangeZone, n: number): void => {
  const { engine, address } = zone.start(n, { o: { identity: 'off' } })
  zone.network.listen(address, (route, body, from) =>
    isOfPair(body) ? refusalAnswer('malformed') : engine.receive(route, body, from),
  )
}

for (const size of share(t, [2, 10, 66], 2, 'sizes'))
  t.test(
    `N=${size}: with prefer an old version counts at once where its node said that it leaves`,
    async t => {
      const { zone } = start(size, 'prefer', size)
      await zone.clock.advance(30_000)
      await leave(zone, 1)
      const since = zone.clock.now()
      startOld(zone, 1)
      const others = zone.agents.filter(({ n }) => n !== 1)
      // What it signed last may seem two slots younger than it is.
      const isBack = (): boolean =>
        others.every(
          ({ engine: { table }, index }) =>
            table.producedAt[index(1)]! > since + 2_000 &&
            (table.flags[index(1)]! & FLAG.leaving) === 0,
        )
      const ms = await zone.until(isBack, 60_000)
      t.ok(ms < 20_000, `heard, and it leaves no longer, after ${ms} ms; half of the TTL is 30 s`)
      await zone.stop()
    },
  )

for (const size of share(t, [4, 10], 1, 'sizes'))
  t.test(
    `N=${size}: a node that said that it leaves and lost its keys believes nobody without keys`,
    async t => {
      const { zone, identities } = start(size, 'prefer', size)
      await zone.clock.advance(30_000)
      const rogues = zone.members.map((_, n) => startRogue(zone, n))
      await leave(zone, 1)
      // Something else was at its address for a moment, such as a proxy.
      const unlisten = zone.network.listen(memberAt(1).address, () => refusalAnswer('malformed'))
      await zone.clock.advance(3_000)
      unlisten()
      identities.renew(memberAt(1).name)
      zone.start(1, { o: { identity: 'prefer' }, identities: identities.of(memberAt(1).name) })
      const all = [...zone.members.keys()]
      const isFooled = (): boolean =>
        zone.agents.some(({ n, knows }) =>
          all.some(
            voter => voter !== n && all.some(target => target !== voter && knows(voter, target)),
          ),
        )
      t.equal(await zone.until(isFooled, 4_000, 100), Infinity, 'not before its keys are read')
      for (const { n, engine } of zone.agents)
        if (n !== 1) engine.setIdentities(identities.of(memberAt(n).name))
      t.equal(await zone.until(isFooled, 40_000, 500), Infinity, 'nor then')
      t.ok(rogues.every(({ engine }) => engine.bytesSent > 0))
      for (const rogue of rogues) rogue.kill()
      await zone.stop()
    },
  )

for (const size of share(t, [3, 10], 2, 'sizes'))
  t.test(`N=${size}: new keys that one other member knows keep their node from nobody`, async t => {
    const { zone, identities } = start(size, 'prefer', size)
    await zone.clock.advance(30_000)
    identities.renew(memberAt(1).name)
    zone.agents[1]!.kill()
    zone.start(1, { o: { identity: 'prefer' }, identities: identities.of(memberAt(1).name) })
    // It has read the Node. The others cannot, and it passes on to n1 what they sign.
    zone.agents[2]!.engine.setIdentities(identities.of(memberAt(2).name))
    const others = zone.agents.filter(({ n }) => n !== 1)
    let [most, heard] = [0, 0]
    for (let ms = 0; ms < 240_000; ms += 1_000) {
      await zone.clock.advance(1_000)
      most = Math.max(most, ...others.map(({ n }) => ageAt(zone, n, 1)))
      // It began anew, and knew of nobody.
      if (ms >= 60_000) heard = Math.max(heard, ...others.map(({ n }) => ageAt(zone, 1, n)))
    }
    t.ok(most < 60_000, `heard all the while: ${most} ms ago at most`)
    t.ok(heard < 60_000, `and it hears the others: ${heard} ms ago at most`)
    await zone.stop()
  })

t.test(
  'of two nodes with new keys the one that cannot read the other’s hears it in time',
  async t => {
    for (let seed = 1; seed <= 8; seed++) {
      const { zone, identities } = start(5, 'prefer', seed)
      await zone.clock.advance(30_000)
      for (const n of [1, 2]) {
        identities.renew(memberAt(n).name)
        zone.agents[n]!.kill()
        zone.start(n, { o: { identity: 'prefer' }, identities: identities.of(memberAt(n).name) })
        // All read its Node but n1, which reads no more.
        for (const { engine, n: other } of zone.agents)
          if (other !== 1) engine.setIdentities(identities.of(memberAt(other).name))
        await zone.clock.advance(n === 1 ? 60_000 + 1_000 * seed : 0)
      }
      let oldest = 0
      for (let ms = 0; ms < 120_000; ms += 1_000) {
        await zone.clock.advance(1_000)
        oldest = Math.max(oldest, ageAt(zone, 1, 2))
      }
      t.ok(oldest < 60_000, `seed ${seed}: heard all the while: ${oldest} ms ago at most`)
      await zone.stop()
    }
  },
)

t.test('two that took each other for nodes without keys find out', async t => {
  const { zone, identities } = start(2, 'prefer')
  await zone.clock.advance(20_000)
  for (const n of [0, 1]) {
    zone.agents[n]!.kill()
    zone.start(n, { o: { identity: 'off' } })
    await zone.clock.advance(1_000)
    zone.agents[n]!.kill()
    zone.start(n, { o: { identity: 'prefer' }, identities: identities.of(memberAt(n).name) })
    zone.agents[1 - n]!.kill()
    zone.start(1 - n, { o: { identity: 'off' } })
    await zone.clock.advance(60_000)
    const { engine } = zone.agents[n]!
    t.equal(engine.status().peers[0]!.isSigned, false)
    zone.agents[1 - n]!.kill()
    zone.start(1 - n, {
      o: { identity: 'prefer' },
      identities: identities.of(memberAt(1 - n).name),
    })
    await zone.clock.advance(60_000)
    for (const { engine } of zone.agents) t.equal(engine.status().peers[0]!.isSigned, true)
  }
  await zone.stop()
})

t.test('who signs again is heard at once by whoever had set its keys aside', async t => {
  const { zone, identities } = start(2, 'prefer')
  await zone.clock.advance(20_000)
  identities.renew(memberAt(1).name)
  zone.agents[1]!.kill()
  zone.start(1, { o: { identity: 'prefer' }, identities: identities.of(memberAt(1).name) })
  const peerOf = (n: number) => zone.agents[n]!.engine.status().peers[0]!
  const asideMs = await zone.until(() => !peerOf(1).isSigned, 60_000)
  t.ok(asideMs < 60_000, 'n0 refuses the new keys, so n1 goes on with the key of the zone')
  await zone.clock.advance(3_000)
  zone.agents[0]!.engine.setIdentities(identities.of(memberAt(0).name))
  zone.agents[0]!.engine.ask(zone.agents[0]!.index(1))
  const ms = await zone.until(() => peerOf(1).isSigned && ageAt(zone, 1, 0) < 1_000, 60_000)
  t.ok(ms <= 1_000, `n1 hears n0 ${ms} ms after n0 knows its keys`)
  const back = await zone.until(() => ageAt(zone, 0, 1) < 1_000, 60_000)
  t.ok(back <= 6_000, `and n0 hears n1 ${back} ms later`)
  await zone.stop()
})

t.test(
  'who begins two epochs at one time is not unheard until its old word is forgotten',
  async t => {
    const { zone, identities } = start(3, 'require')
    await zone.clock.advance(40_000)
    const { engine } = zone.agents[2]!
    const { name } = memberAt(2)
    const ages = (): number => Math.max(ageAt(zone, 0, 2), ageAt(zone, 1, 2))
    for (const asked of [0, 1]) {
      engine.setIdentities({ ...identities.of(name), own: { ...identities.of(name).own! } })
      engine.ask(asked)
      await zone.clock.advance(20)
    }
    let oldest = 0
    for (let ms = 0; ms < 60_000; ms += 500) {
      await zone.clock.advance(500)
      oldest = Math.max(oldest, ages())
    }
    // A second epoch counts ten seconds after the first at the earliest.
    t.ok(oldest < 25_000, `${oldest} ms`)
    await zone.stop()
  },
)

t.test('it is found out whether who is at an address has the keys that are known', async t => {
  const { zone, identities } = start(3, 'prefer')
  await zone.clock.advance(20_000)
  const { engine, index } = zone.agents[0]!
  const since = zone.clock.now()
  const holder = (): string => engine.holderAt(index(2), since)
  t.equal(holder(), 'unasked')
  t.equal(engine.holderAt(index(0), since), 'unasked', 'nobody asks itself')
  engine.ask(index(0))
  engine.ask(index(2))
  await zone.clock.advance(100)
  t.equal(holder(), 'answered')
  identities.renew(memberAt(2).name)
  zone.agents[2]!.kill()
  zone.start(2, { o: { identity: 'prefer' }, identities: identities.of(memberAt(2).name) })
  const later = zone.clock.now()
  engine.ask(index(2))
  await zone.clock.advance(100)
  t.equal(engine.holderAt(index(2), later), 'unasked', 'one request may be lost')
  engine.ask(index(2))
  await zone.clock.advance(100)
  t.equal(engine.holderAt(index(2), later), 'silent')
  t.equal(holder(), 'answered', 'before that it had them')
  await zone.stop()
})

t.test('other keys of a member, and another key of the zone', async t => {
  const { zone, identities } = start(3, 'require')
  await zone.clock.advance(20_000)
  identities.renew(memberAt(2).name)
  zone.agents[2]!.kill()
  zone.start(2, { o: { identity: 'require' }, identities: identities.of(memberAt(2).name) })
  await zone.clock.advance(40_000)
  t.ok(ageAt(zone, 0, 2) > 30_000, 'not heard while nobody knows its keys')
  t.ok(zone.agents[0]!.unknown.includes(memberAt(2).name))
  for (const { engine, n } of zone.agents.slice(0, 2))
    engine.setIdentities(identities.of(memberAt(n).name))
  await zone.clock.advance(30_000)
  t.ok(ageAt(zone, 0, 2) < 25_000)
  for (const ring of [makeKeyRing(KEY_A, KEY_B), makeKeyRing(KEY_B, KEY_A), makeKeyRing(KEY_B)])
    for (const { engine } of zone.agents) {
      engine.setKeys(ring)
      await zone.clock.advance(10_000)
    }
  await zone.clock.advance(30_000)
  for (let n = 0; n < 3; n++)
    for (let other = 0; other < 3; other++)
      if (n !== other) t.ok(ageAt(zone, n, other) < 30_000, `n${n} of n${other}`)
  await zone.stop()
})

for (const mode of ['off', 'prefer', 'require'] as const)
  t.test(`${mode}: who has another key of the zone reads why it is refused`, async t => {
    const { zone } = start(3, mode)
    await zone.clock.advance(20_000)
    const wrong = zone.agents[0]!.engine
    wrong.setKeys(makeKeyRing(KEY_B))
    await zone.clock.advance(40_000)
    for (const { trouble, isKeyRefused } of wrong.status().peers) {
      t.match(
        trouble,
        /^answered 403 (and signed its answer with a key that we do not have: )?unknown-key$/,
      )
      t.ok(isKeyRefused)
    }
    for (const { name, isKeyRefused } of zone.agents[1]!.engine.status().peers)
      t.equal(isKeyRefused, name === memberAt(0).name, name)
    t.equal(zone.agents[1]!.engine.status().sharingKeys, 1, 'the other one')
    t.equal(wrong.status().sharingKeys, 0)
    wrong.setKeys(makeKeyRing(KEY_A))
    await zone.clock.advance(40_000)
    t.notOk(wrong.status().peers.some(({ isKeyRefused }) => isKeyRefused))
    await zone.stop()
  })

t.test('an agent that was suspended, or lost its epoch, is heard again', async t => {
  const { zone, identities } = start(3, 'require')
  await zone.clock.advance(20_000)
  zone.agents[1]!.engine.resumed()
  t.equal(ageAt(zone, 1, 0), Infinity, 'what others said before is of unknown age')
  await zone.clock.advance(20_000)
  for (const other of [0, 2]) t.ok(ageAt(zone, 1, other) < 20_000)
  t.ok(ageAt(zone, 0, 1) < 20_000)
  zone.agents[2]!.kill()
  // Its disk is back from before: the same epochs once more.
  zone.start(2, { o: { identity: 'require' }, identities: identities.of(memberAt(2).name) })
  await zone.clock.advance(30_000)
  for (const other of [0, 1]) t.ok(ageAt(zone, other, 2) < 20_000)
  await zone.stop()
})
