// SPDX-License-Identifier: Apache-2.0
import fc from '../../../../testkit/properties.js'
import t from 'tap'
import { makeKeyRing } from '../../../../agent/key-ring.js'
import { open, seal, zoneHash } from '../../../../agent/stages/exchange/wire.js'
import type { Route } from '../../../../agent/ports/transport.js'
import { id64 } from '../../../../core/ids.js'
import {
  ExchangeZone,
  KEY_A,
  memberAt,
  type TestAgent,
} from '../../../../testkit/zone/exchange-zone.js'

interface Overheard {
  readonly body: Uint8Array
  readonly route: Route
  readonly kind: 'request' | 'answer'
}

/** A zone that has talked for a while, with everything that was on its wire. */
const talkedZone = async (size: number): Promise<{ zone: ExchangeZone; wire: Overheard[] }> => {
  const zone = new ExchangeZone(size, 101)
  const wire: Overheard[] = []
  zone.network.onWire = (body, route, kind) => wire.push({ body: body.slice(), route, kind })
  zone.startAll({ o: { superedgePeers: 'on' } })
  await zone.clock.advance(10_000)
  zone.agents[0]!.vote(1, true)
  zone.agents[2]!.engine.suspect(zone.agents[2]!.index(1))
  await zone.clock.advance(10_000)
  zone.agents[0]!.vote(1, false)
  await zone.clock.advance(10_000)
  zone.network.onWire = undefined
  return { zone, wire }
}

const stateOf = ({ engine, suspected, evidence }: TestAgent): string =>
  JSON.stringify([
    engine.table.hb.join(),
    engine.table.producedAt.join(),
    engine.table.bits.join(),
    engine.table.flags.join(),
    suspected,
    evidence,
  ])

const ROUTES = ['gossip', 'vote', 'result'] as const

t.test(
  'whatever was on the wire changes nothing when it comes again, to anybody, on any route',
  async t => {
    const { zone, wire } = await talkedZone(4)
    await zone.stop()
    t.ok(wire.length > 60, `${wire.length} messages overheard`)
    for (const agent of zone.agents) {
      const before = stateOf(agent)
      const answers = new Map<number, number>()
      for (const { body } of wire) {
        for (const route of ROUTES) {
          await zone.clock.advance(60)
          const { status } = agent.engine.receive(route, body, '10.9.9.9')
          answers.set(status, (answers.get(status) ?? 0) + 1)
        }
      }
      t.equal(stateOf(agent), before, `n${agent.n}: nothing changed`)
      t.notOk(answers.get(200), 'nothing was accepted')
      t.ok(answers.get(409)! > 0, 'a request to another life or receiver is challenged')
      t.notOk(answers.get(429), 'and nothing merely came too fast')
    }
  },
)

t.test('a request that was held back until its sender restarted is challenged', async t => {
  const { zone, wire } = await talkedZone(3)
  const [receiver] = zone.agents
  const held = wire.filter(({ kind }) => kind === 'request')
  zone.agents[1]!.kill()
  zone.start(1)
  await zone.clock.advance(20_000)
  // Nobody else says anything meanwhile.
  await zone.stop()
  const before = stateOf(receiver!)
  for (const { body, route } of held.slice(-40)) {
    await zone.clock.advance(60)
    t.not(receiver!.engine.receive(route, body, '10.9.9.9').status, 200)
  }
  t.equal(stateOf(receiver!), before)
})

t.test('altered or invented bytes change nothing and never throw', async t => {
  const { zone, wire } = await talkedZone(3)
  await zone.stop()
  const [agent] = zone.agents
  const before = stateOf(agent!)
  // Time passes between them: the rate limit must not hide the checks behind it.
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...wire),
      fc.array(fc.tuple(fc.nat(4_000), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...ROUTES),
      fc.nat(20),
      async ({ body }, changes, route, cut) => {
        const altered = Buffer.from(body).subarray(0, body.length - (cut > 15 ? cut : 0))
        for (const [at, byte] of changes) altered[at % altered.length] = byte
        await zone.clock.advance(60)
        const { status } = agent!.engine.receive(route, altered, '10.9.9.9')
        return route === 'result' ? status === 402 : status >= 400 && status !== 429
      },
    ),
    { numRuns: 3_000 },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 600 }),
      fc.constantFrom(...ROUTES),
      async (bytes, route) => {
        await zone.clock.advance(60)
        const { status } = agent!.engine.receive(route, bytes, memberAt(1).address)
        return status === (route === 'result' ? 402 : 400)
      },
    ),
    { numRuns: 2_000 },
  )
  t.equal(stateOf(agent!), before)
})

t.test(
  "nobody speaks in the receiver's name, and a reply answers only its own request",
  async t => {
    const { zone, wire } = await talkedZone(3)
    const [agent] = zone.agents
    const ring = makeKeyRing(KEY_A)
    const hash = zoneHash('test', 'z')
    const requests = wire.filter(({ kind }) => kind === 'request')
    const sample = open(requests.at(-1)!.body, hash, ring)
    if (!sample.ok) throw new Error('a recorded request opens')
    const sealAs = (name: string, change: object = {}): Buffer =>
      seal({ ...sample.header, ...change, senderId: id64(name) }, sample.body, hash, ring.primary)
    const foreign = sealAs('n0', { senderBoot: sample.header.senderBoot ^ 1n })
    t.equal(agent!.engine.receive(requests.at(-1)!.route, foreign, '10.0.0.1').status, 403)
    t.equal(agent!.engine.receive(requests.at(-1)!.route, sealAs('n77'), '10.0.0.1').status, 403)
    const { refusals } = agent!.engine.status()
    t.match(refusals, { 'own-id': 1, 'unknown-sender': 1 })
    // Every answer is swapped for an older one, or for one of another peer's: none is taken.
    const answers = wire.filter(({ kind }) => kind === 'answer')
    zone.agents.slice(1).forEach(({ kill }) => kill())
    let i = 0
    for (const n of [1, 2]) {
      zone.network.listen(memberAt(n).address, () => ({
        status: i % 2 === 0 ? 200 : 409,
        body: answers[i++ % answers.length]!.body,
      }))
    }
    const heard = agent!.engine.status().peers.map(peer => peer.lastHeardAt)
    const bits = agent!.engine.table.bits.join()
    for (let round = 0; round < 40; round++) {
      agent!.vote(1, round % 2 === 0)
      agent!.vote(1, false)
      await zone.clock.advance(1_000)
    }
    t.ok(i > 40)
    t.same(
      agent!.engine.status().peers.map(peer => peer.lastHeardAt),
      heard,
      'nobody was heard',
    )
    t.equal(agent!.engine.table.bits.join(), bits)
    t.ok(agent!.engine.status().refusals['wrong-reply']! > 20)
    await zone.stop()
  },
)
