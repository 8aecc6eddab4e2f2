// SPDX-License-Identifier: Apache-2.0
// A stolen node publishes other keys to each of several groups of members, all of the same generation and announced by its former
// keys. What it tells one group, and that passes on, the others must take for forged.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { LINK_BYTES, LinkChain, saltOf } from '../../../../agent/identity/link-chain.js'
import { generateNodeKeys, type NodeKeys } from '../../../../agent/identity/node-keys.js'
import { parseStatement, QUARTER_MS, sealStatement } from '../../../../agent/identity/statement.js'
import type { ZoneIdentities } from '../../../../agent/results.js'
import { id64 } from '../../../../core/ids.js'
import { ExchangeZone, memberAt } from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'
import { Insider, ZONE } from '../../../../testkit/zone/insider.js'

const SECOND = 1_000
const SIZE = 60
const LONGEST = { slot: 32, logLinks: 11 }

/**
 * @param groups of members, each of which knows the stolen node by other keys
 * @returns how old the record of an honest member was at most with another, each two seconds in the last 90 of 150 s; and how
 * often one of them refused a statement
 */
const oldest = async (groups: number) => {
  const zone = new ExchangeZone(SIZE, 1)
  const { clock } = zone
  const identities = new TestIdentities(zone.members.map(({ name }) => name))
  const thief = memberAt(0).name
  const successors = Array.from({ length: groups }, () => generateNodeKeys())
  const known = (n: number): ZoneIdentities => {
    const all = identities.of(memberAt(n).name)
    const pin = all.pins.get(thief)
    if (pin === undefined) return all
    // The key of the pair stays, so that everybody hears it.
    const keys = { ...pin.keys, signing: successors[n % groups]!.public.signing }
    return { ...all, pins: new Map([...all.pins, [thief, { ...pin, keys }]]) }
  }
  for (let n = 1; n < SIZE; n++)
    zone.start(n, { o: { identity: 'require', meshMax: 8 }, identities: known(n) })
  await clock.advance(20 * SECOND)
  const insider = new Insider(zone, 0, identities)
  const honest = zone.agents.slice(1)
  /** With the longest chain, shown to its end: as dear to prove as a statement can be. */
  const says = (keys: NodeKeys) => {
    const origin = { zoneHash: ZONE, id: id64(thief) }
    const time = 8_000_000_000 + Math.floor(clock.now() / QUARTER_MS)
    const salt = saltOf({ ...origin, epoch: 9, time })
    const chain = new LinkChain(salt, randomBytes(LINK_BYTES), 2 ** LONGEST.logLinks)
    const bytes = sealStatement(
      {
        ...{ generation: 1, epoch: 9, time, ...LONGEST, flags: 0, cutFor: 0 },
        ...{ anchor: chain.anchor, heartbeat: 1_000_000_000 },
        membershipHash: zone.agents[1]!.engine.table.hash,
        ...{ down: [], notLooked: [], standsInFor: [] },
      },
      origin,
      content => keys.sign(content),
    )
    const progress = { quarters: LONGEST.slot * chain.last, link: chain.link(chain.last) }
    return { kind: 'statement', received: parseStatement(bytes)!, age: 0, progress } as const
  }
  let worst = 0
  for (let half = 0; half < 300; half++) {
    for (const [group, keys] of half % 4 > 0 ? [] : successors.entries()) {
      const some = honest.filter(({ n }) => n % groups === group)
      const { n, index } = some[(half / 4) % some.length]!
      insider.send(n, [{ place: index(0), entry: says(keys) }])
    }
    await clock.advance(SECOND / 2)
    if (half < 120 || half % 4 > 0) continue
    for (const { n, engine, index } of honest)
      for (const other of honest)
        if (other.n !== n)
          worst = Math.max(worst, clock.now() - engine.table.producedAt[index(other.n)]!)
  }
  const refused = honest.map(({ engine }) => engine.status().refusals['bad-statement'] ?? 0)
  await zone.stop()
  return { worst, refused: Math.max(...refused) }
}

t.test(
  'a stolen node whose keys are not the same to all keeps no other from being heard',
  async t => {
    const calm = await oldest(1)
    t.equal(calm.refused, 0)
    const split = await oldest(10)
    t.ok(split.refused > 10, `${split.refused} statements of it were taken for forged`)
    t.ok(split.worst <= calm.worst + 5 * SECOND, `${split.worst} ms old, ${calm.worst} without`)
  },
)
