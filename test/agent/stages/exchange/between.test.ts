// SPDX-License-Identifier: Apache-2.0
// With `prefer`: somebody between two healthy nodes, or at the address of one of them, who has the zone's key or none.
import t from 'tap'
import { makeKeyRing } from '../../../../agent/key-ring.js'
import {
  isOfPair,
  headerNamedBy,
  open,
  seal,
  TYPE,
  type Header,
} from '../../../../agent/stages/exchange/wire.js'
import { id64 } from '../../../../core/ids.js'
import {
  ExchangeZone,
  KEY_A,
  memberAt,
  rosterOf,
  type TestAgent,
} from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'
import { ZONE } from '../../../../testkit/zone/insider.js'

const PREFER = { identity: 'prefer' } as const
const [KEYS, NO_RECORDS] = [makeKeyRing(KEY_A), Buffer.alloc(5)]

const start = (size: number) => {
  const zone = new ExchangeZone(size)
  const identities = new TestIdentities(zone.members.map(({ name }) => name))
  zone.members.forEach(({ name }, n) => {
    zone.start(n, { o: PREFER, identities: identities.of(name) })
  })
  return { zone, identities }
}

const peerOf = ({ engine }: TestAgent, n: number) =>
  engine.status().peers.find(({ name }) => name === memberAt(n).name)!

/** What somebody on the way from n0 to n1 answers; undefined: it passes the request on. */
type Forge = (body: Uint8Array) => { status: number; body: Uint8Array } | undefined

/** Requests of n0 to n1 pass by this one. */
const between = (zone: ExchangeZone, forge: Forge): (() => void) =>
  zone.network.listen(memberAt(1).address, (route, body, from) => {
    const forged = from === memberAt(0).address ? forge(body) : undefined
    return forged ?? zone.agents[1]!.engine.receive(route, body, from)
  })

const plain = (text: string) => ({ status: 403, body: Buffer.from(`${text}\n`) })

t.test('what is shown by the zone’s key is not shown with the keys of a pair', async t => {
  const { zone } = start(4)
  await zone.clock.advance(60_000)
  const [asker, asked] = [zone.agents[0]!, zone.agents[1]!]
  const messages: Header[] = []
  let shown = 0n
  let isForged = false
  const end = between(zone, body => {
    if (isOfPair(body)) {
      if (isForged) messages.push(headerNamedBy(body))
      shown = headerNamedBy(body).destBoot
      return isForged ? undefined : plain('unknown-key')
    }
    const request = open(body, ZONE, KEYS)
    t.ok(request.ok, 'the asker tries the key of the zone')
    if (!request.ok) return undefined
    isForged = true
    const header: Header = {
      ...request.header,
      ...{ type: TYPE.ack, senderId: id64(memberAt(1).name), flags: 0, count: 0 },
      // What n1 would show in a minute, and another roster.
      ...{ senderBoot: shown + 60_000n, membershipHash: 5n },
      destBoot: request.header.senderBoot,
    }
    return { status: 200, body: seal(header, NO_RECORDS, ZONE, KEYS.primary) }
  })
  await zone.until(() => isForged, 60_000, 10)
  await zone.clock.advance(100)
  asker.engine.ask(asker.index(1))
  await zone.clock.advance(1_000)
  t.ok(messages.length > 0)
  t.strictSame(
    messages.filter(({ flags }) => flags !== 0),
    [],
    'it takes n1 for one of its own roster',
  )
  t.equal(peerOf(asker, 1).isSameRoster, true)
  const { ahead = 0, challenged } = asked.engine.status().refusals
  t.equal(ahead, 0, 'so n1 is not told that its clock stood still')
  t.equal(challenged, 3, 'and needs no new challenge')
  end()
  await zone.stop()
})

t.test('a node with new keys and another roster is heard by the zone’s key', async t => {
  const { zone, identities } = start(3)
  await zone.clock.advance(30_000)
  identities.renew(memberAt(1).name)
  zone.agents[1]!.kill()
  zone.start(1, {
    ...{ o: PREFER, identities: identities.of(memberAt(1).name) },
    roster: rosterOf(1, [...zone.members, memberAt(7)]),
  })
  zone.agents[2]!.engine.setIdentities(identities.of(memberAt(2).name))
  await zone.clock.advance(240_000)
  for (const [n, of] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const { engine, index } = zone.agents[n]!
    const ageMs = zone.clock.now() - engine.table.producedAt[index(of)]!
    t.ok(ageMs < 60_000, `n${n} heard of n${of} ${ageMs} ms ago`)
  }
  await zone.stop()
})

for (const text of ['unknown-key', 'bad-signature', 'no-identity', 'unsigned'])
  t.test(`"${text}" from somebody without a key costs two more requests at most`, async t => {
    const { zone } = start(4)
    await zone.clock.advance(60_000)
    const [asker, asked] = [zone.agents[0]!, zone.agents[1]!]
    let [ofPair, ofZone] = [0, 0]
    const end = between(zone, body => {
      if (!isOfPair(body)) {
        ofZone++
        return undefined
      }
      ofPair++
      return plain(text)
    })
    await zone.clock.advance(300_000)
    t.ok(ofPair > 3)
    t.ok(ofZone <= 2 * ofPair, `${ofZone} for ${ofPair}`)
    for (const [agent, of] of [
      [asker, 1],
      [asked, 0],
    ] as const) {
      t.ok(peerOf(agent, of).isSigned, 'they hear each other through others, and by nothing else')
      const { engine, index } = agent
      t.ok(zone.clock.now() - engine.table.producedAt[index(of)]! < 40_000)
    }
    end()
    const was = ofPair
    zone.network.listen(memberAt(1).address, (route, body, from) => {
      if (from === memberAt(0).address) ofPair += isOfPair(body) ? 1 : 0
      return asked.engine.receive(route, body, from)
    })
    const ms = await zone.until(() => ofPair > was && peerOf(asker, 1).trouble === null, 60_000)
    t.ok(ms < 30_000, `and ${ms} ms after it stopped as before`)
    await zone.stop()
  })
