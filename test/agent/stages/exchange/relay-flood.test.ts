// SPDX-License-Identifier: Apache-2.0
// A zone that is too large for all to talk to all: what a node says reaches most others through others, while several stolen
// nodes send wrong signs of life as fast as they are heard.
import t from 'tap'
import { LINK_BYTES } from '../../../../agent/identity/link-chain.js'
import { QUARTER_MS } from '../../../../agent/identity/statement.js'
import type { PlacedEntry } from '../../../../agent/stages/exchange/signed-body.js'
import { ExchangeZone, memberAt } from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'
import { Insider } from '../../../../testkit/zone/insider.js'

const SECOND = 1_000
const SIZE = 40
const LIARS = 8
/** Of nobody. */
const LINK = '07'.repeat(LINK_BYTES)

/** @returns how long each of some votes took to be known to all honest nodes, and how many wrong links one of them proved */
const play = async (isFlooded: boolean) => {
  const zone = new ExchangeZone(SIZE, 1)
  const { clock } = zone
  const identities = new TestIdentities(zone.members.map(({ name }) => name))
  for (let n = 0; n < SIZE; n++)
    zone.start(n, {
      o: { identity: 'require', meshMax: 8 },
      identities: identities.of(memberAt(n).name),
    })
  await clock.advance(40 * SECOND)
  const honest = zone.agents.slice(LIARS)
  const liars = zone.agents.slice(0, LIARS).map(({ n, kill }) => {
    kill()
    return new Insider(zone, n, identities)
  })
  const last = honest.at(-1)!
  const known = liars[0]!
    .send(last.n, [])
    .news.flatMap(({ place, entry }) => (entry.kind === 'statement' ? [{ place, entry }] : []))
  /** About everybody but the receiver. */
  const wrong = (self: number): PlacedEntry[] =>
    known
      .filter(({ place }) => place !== self)
      .map(({ place, entry }) => {
        const { statement } = entry.received
        const quarters = entry.progress.quarters + Math.floor(clock.now() / QUARTER_MS) + 100
        const time = (statement.time + quarters) % 256
        return { place, entry: { kind: 'link', time, link: LINK } }
      })
  let turn = 0
  /** Two of the liars to each, 20 times a second. */
  const step = async (): Promise<void> => {
    const from = turn++ % (LIARS / 2)
    for (const { n, engine } of isFlooded ? honest : [])
      for (const liar of [liars[from]!, liars[from + LIARS / 2]!])
        liar.send(n, wrong(engine.table.self))
    await clock.advance(50)
  }
  for (let ms = 0; ms < 5 * SECOND; ms += 50) await step()
  const took: number[] = []
  for (const [voter, isDown] of [
    [10, true],
    [20, true],
    [30, true],
  ] as const) {
    const by = zone.agents[voter]!
    const { topology, roster } = by.engine.table
    const target = [...topology.targetsOf(by.index(voter))]
      .map(index => Number(roster.members[index]!.name.slice(1)))
      .find(n => n >= LIARS)!
    by.vote(target, isDown)
    const isKnown = (): boolean =>
      honest.every(({ n, knows }) => n === target || knows(voter, target) === isDown)
    let ms = 0
    for (; ms < 60 * SECOND && !isKnown(); ms += 50) await step()
    took.push(ms)
  }
  const wrongLinks = last.engine.status().refusals['bad-link'] ?? 0
  await zone.stop()
  return { took, wrongLinks }
}

t.test('stolen nodes that flood keep no vote from being passed on', async t => {
  const calm = await play(false)
  const { took, wrongLinks } = await play(true)
  t.ok(wrongLinks > 1_000, `${wrongLinks} wrong links were proved by one`)
  for (const [k, ms] of took.entries())
    t.ok(ms <= calm.took[k]! + 5 * SECOND, `${ms} ms, ${calm.took[k]} without`)
})
