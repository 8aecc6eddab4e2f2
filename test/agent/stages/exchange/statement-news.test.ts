// SPDX-License-Identifier: Apache-2.0
// What is told to peers that did not ask, and how often.
import t from 'tap'
import type { NodeName } from '../../../../core/ids.js'
import type { KnownStatement } from '../../../../agent/identity/entries.js'
import { LINK_BYTES } from '../../../../agent/identity/link-chain.js'
import { PeerState } from '../../../../agent/stages/exchange/peer-state.js'
import { StatementNews } from '../../../../agent/stages/exchange/statement-news.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'

const SELF = 0
const VOTER = 1
/** As docs/protocol.md says. */
const PEERS = 4

/** What a member said so many quarters ago. */
const said = (time: number, quarters = 0): KnownStatement => ({
  received: {
    statement: {
      ...{ generation: 1, epoch: 1, time, slot: 4, logLinks: 10, heartbeat: 7 },
      ...{ anchor: '00'.repeat(LINK_BYTES), flags: 0, cutFor: 0, membershipHash: 1n },
      ...{ down: [5n], notLooked: [], standsInFor: [] },
    },
    bytes: Buffer.alloc(140),
  },
  progress: { quarters, link: quarters === 0 ? undefined : '00'.repeat(LINK_BYTES) },
  madeAt: 0,
})

const start = () => {
  const known = new Map([
    [SELF, said(100)],
    [VOTER, said(200)],
  ])
  const news = new StatementNews({
    clock: new FakeClock(),
    table: { self: SELF, size: 3 },
    known: place => known.get(place),
    member: place => (place === VOTER ? { urgentSince: 0, isMissed: false } : undefined),
  })
  /** The member at this place says something else, or more. */
  const says = (place: number, what: KnownStatement, isOther = true): void => {
    known.set(place, what)
    news.changed(place, what, isOther)
  }
  says(VOTER, said(200))
  let peers = 0
  const newPeer = (): PeerState => {
    const id = BigInt(++peers)
    const name = `p${id}` as NodeName
    return new PeerState({ name, id, address: '192.0.2.1' }, { index: 2, port: 51005, seq: 0 })
  }
  /** Kinds of entries by place, as told to another peer that has said nothing yet, or to this one. */
  const tell = (peer = newPeer()): Record<number, string> => {
    const entries = news.unasked(peer, true, true)
    news.noteSentUnasked(peer, entries)
    return Object.fromEntries(entries.map(({ place, entry }) => [place, entry.kind]))
  }
  return { news, says, newPeer, tell }
}

const BOTH = { [SELF]: 'statement', [VOTER]: 'statement' }

t.test('a statement of another is told to so many peers, then only to those who ask', async t => {
  const { news, newPeer, tell } = start()
  for (let peer = 0; peer < PEERS; peer++) t.strictSame(tell(), BOTH, `peer ${peer}`)
  for (let peer = 0; peer < 20; peer++)
    t.strictSame(tell(), { [SELF]: 'statement' }, 'the own one goes to everybody')
  const asked = news.forAsking(newPeer(), true)
  t.strictSame(
    asked.map(({ place, entry }) => [place, entry.kind]),
    [
      [SELF, 'statement'],
      [VOTER, 'statement'],
    ],
  )
})

t.test('what was composed, but not sent, does not count', async t => {
  const { news, newPeer, tell } = start()
  for (let peer = 0; peer < 20; peer++) news.unasked(newPeer(), true, true)
  t.strictSame(tell(), BOTH)
})

t.test(
  'a peer that refuses what it is told, or says that it knows nothing, takes the place of no other',
  async t => {
    const { news, newPeer, tell } = start()
    const liar = newPeer()
    for (let time = 0; time < 20; time++) {
      t.strictSame(tell(liar), BOTH)
      news.noteDelivered(liar, news.unasked(liar, true, true))
      news.noteDigest(liar, new Uint8Array(3))
    }
    for (let peer = 1; peer < PEERS; peer++) t.strictSame(tell(), BOTH)
    t.strictSame(tell(), { [SELF]: 'statement' })
  },
)

t.test('when it says something else, that is told as often', async t => {
  const { says, tell } = start()
  for (let peer = 0; peer < 20; peer++) tell()
  says(VOTER, said(300))
  for (let peer = 0; peer < PEERS; peer++) t.strictSame(tell(), BOTH)
  t.strictSame(tell(), { [SELF]: 'statement' })
})

t.test('that it still says so is told to everybody who knows what it says', async t => {
  const { news, says, newPeer, tell } = start()
  const peers = Array.from({ length: 20 }, newPeer)
  // All have the statement, from whomever.
  for (const peer of peers) news.noteDigest(peer, news.digest())
  for (let peer = 0; peer < 20; peer++) tell()
  says(VOTER, said(200, 9), false)
  for (const peer of peers) t.match(tell(peer), { [VOTER]: 'link' })
})
