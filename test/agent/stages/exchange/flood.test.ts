// SPDX-License-Identifier: Apache-2.0
// What somebody who floods an agent with messages takes from whom.
import t from 'tap'
import { maxMessageBytes } from '../../../../agent/stages/exchange/body.js'
import { makeKeyRing } from '../../../../agent/key-ring.js'
import { open, seal, TYPE, zoneHash } from '../../../../agent/stages/exchange/wire.js'
import { id64 } from '../../../../core/ids.js'
import {
  ExchangeZone,
  KEY_A,
  memberAt,
  zoneName,
  type TestAgent,
} from '../../../../testkit/zone/exchange-zone.js'

const KEYS = makeKeyRing(KEY_A)
const ZONE = zoneHash('test', zoneName)
const OUTSIDE = '10.9.9.9'

/** Each body, from each address, again and again, as fast as 2 000 in a second. */
const flood = async (
  zone: ExchangeZone,
  { engine }: TestAgent,
  messages: { readonly bodies: readonly Uint8Array[]; readonly from: readonly string[] },
  seconds: number,
): Promise<void> => {
  let next = 0
  for (let ms = 0; ms < 1_000 * seconds; ms += 10) {
    for (let i = 0; i < 20; i++, next++) {
      const body = messages.bodies[next % messages.bodies.length]!
      engine.receive('gossip', body, messages.from[next % messages.from.length]!)
    }
    await zone.clock.advance(10)
  }
}

/** Everything that n1 sent to n0 while they talked, and the same with a bit of its signature turned. */
const overhear = async (zone: ExchangeZone): Promise<Uint8Array[]> => {
  const heard: Uint8Array[] = []
  zone.network.onWire = (body, _route, kind) => {
    const isFromN1 = body.length > 32 && Buffer.from(body).readBigUInt64LE(24) === id64('n1')
    if (kind === 'request' && isFromN1) heard.push(Uint8Array.from(body))
  }
  await zone.clock.advance(30_000)
  zone.network.onWire = undefined
  return heard
}

const forged = (body: Uint8Array): Uint8Array => {
  const copy = Uint8Array.from(body)
  copy[copy.length - 1]! ^= 1
  return copy
}

t.test('who has no key cannot use up what a member may send', async t => {
  const zone = new ExchangeZone(3, 61).startAll()
  const [target, member] = zone.agents as [TestAgent, TestAgent]
  const heard = await overhear(zone)
  t.ok(heard.length > 1)
  const kinds: readonly [string, readonly Uint8Array[]][] = [
    ['forged', heard.map(forged)],
    ['recorded', heard],
    ['noise', [new Uint8Array(300).fill(7), new Uint8Array(0)]],
    ['as large as can be', [new Uint8Array(maxMessageBytes(3)).fill(7)]],
    ['too large', [new Uint8Array(maxMessageBytes(3) + 1).fill(7)]],
  ]
  const peerOf = ({ engine }: TestAgent, name: string) =>
    engine.status().peers.find(peer => peer.name === name)!
  for (const [what, bodies] of kinds) {
    const { failures } = peerOf(member, 'n0')
    const { lastHeardAt } = peerOf(target, 'n1')
    await flood(zone, target, { bodies, from: [member.address, OUTSIDE] }, 15)
    t.equal(peerOf(member, 'n0').failures, failures, `${what}: nothing that n1 sends is refused`)
    t.ok(peerOf(target, 'n1').lastHeardAt! > lastHeardAt!, `${what}: it is heard`)
  }
  await zone.stop()
})

t.test('what is proved for nothing has a bound for each address', async t => {
  const zone = new ExchangeZone(400, 62)
  const target = zone.start(0)
  const bytes = maxMessageBytes(400)
  const body = new Uint8Array(bytes)
  body.set(seal(anyHeader(), new Uint8Array(0), ZONE, KEYS.primary).subarray(0, 64))
  const verified = (from: string): number => {
    let count = 0
    while (target.engine.receive('gossip', body, from).status === 403) count++
    return count
  }
  const most = verified(memberAt(1).address)
  t.ok(most > 0 && most * bytes <= 8 << 20, `${most} of ${bytes} bytes at once`)
  t.equal(verified(`::ffff:${memberAt(1).address}`), 0, 'the same address')
  t.equal(verified(memberAt(2).address), most, 'another member has its own')
  t.equal(verified(OUTSIDE), most, 'strangers have theirs together')
  t.equal(verified('10.8.8.8'), 0)
  await zone.clock.advance(1_000)
  t.equal(verified('10.8.8.8'), most)
  t.equal(target.engine.status().refusals['too-fast'], 6)
  const longer = new Uint8Array(bytes + 1)
  t.equal(
    target.engine.receive('gossip', longer, OUTSIDE).status,
    413,
    'and what is too large has none',
  )
  await zone.stop()
})

const anyHeader = (change: Partial<Parameters<typeof seal>[0]> = {}) => ({
  ...{ type: TYPE.gossip, flags: 0, membershipHash: 0n, senderId: id64('n1'), senderBoot: 5n },
  ...{ senderSeq: 1, baseHb: 1, destBoot: 0n, count: 0, heldMs: 0 },
  ...change,
})

t.test(
  'a member that sends too much is heard 20 times in a second, wherever it sends from',
  async t => {
    const zone = new ExchangeZone(3, 63)
    const target = zone.start(0)
    let shown = 0n
    let seq = 0
    const say = (): number => {
      const header = anyHeader({ senderSeq: ++seq, destBoot: shown })
      const body = Buffer.from([0, 0, 0, 0, 0])
      const answer = target.engine.receive(
        'gossip',
        seal(header, body, ZONE, KEYS.primary),
        `10.7.7.${seq % 200}`,
      )
      const reply = open(answer.body, ZONE, KEYS)
      if (reply.ok) shown = reply.header.senderBoot
      return answer.status
    }
    t.equal(say(), 409)
    const statuses = Array.from({ length: 60 }, say)
    t.equal(statuses.filter(status => status === 200).length, 40, 'so many at once')
    t.equal(statuses.filter(status => status === 429).length, 20)
    await zone.clock.advance(1_000)
    t.equal(Array.from({ length: 60 }, say).filter(status => status === 200).length, 20)
    t.equal(target.engine.status().refusals['too-fast'], 60)
    await zone.stop()
  },
)

t.test('the longest message of a large mesh is taken in, once in two seconds', async t => {
  const size = 3_000
  const zone = new ExchangeZone(size, 64)
  const target = zone.start(0, { o: { meshMax: 10_000 } })
  const room =
    maxMessageBytes(size) - seal(anyHeader(), new Uint8Array(0), ZONE, KEYS.primary).length
  let shown = 0n
  let seq = 0
  const say = (): number => {
    const header = anyHeader({ senderSeq: ++seq, destBoot: shown })
    const message = seal(header, new Uint8Array(room), ZONE, KEYS.primary)
    const answer = target.engine.receive('gossip', message, memberAt(1).address)
    const reply = open(answer.body, ZONE, KEYS)
    if (reply.ok) shown = reply.header.senderBoot
    return answer.status
  }
  t.ok(room > 40 * 8_192, `${room} bytes`)
  t.equal(say(), 409)
  t.not(say(), 429, 'it takes all that there is at once')
  t.equal(say(), 429)
  await zone.clock.advance(2_000)
  t.not(say(), 429)
  await zone.stop()
})
