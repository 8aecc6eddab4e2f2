// SPDX-License-Identifier: Apache-2.0
// What members sign anew, or is new to one agent alone, is no news to the others: it travels with their own questions.
import t from 'tap'
import { exchangeOptions, ExchangeZone, memberAt } from '../../../../testkit/zone/exchange-zone.js'
import { TestIdentities } from '../../../../testkit/zone/identities.js'

const SIZE = 40
/** Rings, of which each agent asks so few others in half a minute that it does not know what most of them know. */
const o = {
  ...{ identity: 'require' as const, meshMax: 10, ringObservers: 6, ringExchangePeriodMs: 5_000 },
  linkSlotMs: 500,
}
/** A statement that names the members which its node observes, and one more link. */
const STATEMENT_BYTES = 250
/** As long as the links of a statement last: 1024, and the first slot. */
const LINKS_MS = 1_025 * o.linkSlotMs

const startZone = async () => {
  const zone = new ExchangeZone(SIZE, 5)
  const identities = new TestIdentities(zone.members.map(({ name }) => name))
  const start = (n: number) =>
    zone.start(n, { o, identities: identities.of(memberAt(n).name), savedEpoch: 1 })
  zone.members.forEach((_, n) => start(n))
  const seen = { most: 0 }
  zone.network.onWire = (body, _route, kind, { from }) => {
    if (kind === 'request' && (only === undefined || from === only))
      seen.most = Math.max(seen.most, body.length)
  }
  let only: string | undefined
  /** The longest request of that time, of everybody or of one address, and the oldest record that somebody had. */
  const watch = async (ms: number, address?: string) => {
    only = address
    seen.most = 0
    let oldest = 0
    for (let passed = 0; passed < ms; passed += 1_000) {
      await zone.clock.advance(1_000)
      for (const { engine } of zone.agents)
        oldest = Math.max(oldest, zone.clock.now() - Math.min(...engine.table.producedAt))
    }
    return { most: seen.most, oldest }
  }
  return { zone, start, watch }
}

t.test(
  'statements that repeat the ones before reach everybody, and are pushed to nobody',
  async t => {
    const { zone, watch } = await startZone()
    const cold = await watch(60_000)
    t.ok(
      cold.most < 4 * STATEMENT_BYTES,
      `at a start of all the longest request has ${cold.most} B`,
    )
    const quiet = await watch(60_000)
    t.ok(quiet.oldest < exchangeOptions.recordTtlMs, `everybody is heard: ${quiet.oldest} ms ago`)
    await zone.clock.advance(LINKS_MS - zone.clock.now() - 10_000)
    const renewed = await watch(60_000)
    t.ok(
      renewed.most <= quiet.most + STATEMENT_BYTES,
      `when all links run out the longest request has ${renewed.most} B, before ${quiet.most} B`,
    )
    t.ok(renewed.oldest < exchangeOptions.recordTtlMs, `nobody is forgotten: ${renewed.oldest} ms`)
    await zone.stop()
  },
)

t.test('who starts among many learns what stands, and sends nothing', async t => {
  const { zone, start, watch } = await startZone()
  // Everybody calls somebody down: all that the new one reads is worth hearing, but was said long ago.
  for (const agent of zone.agents)
    agent.vote(zone.agents[0]!.engine.table.topology.targetsOf(agent.index(agent.n))[0]!, true)
  await zone.clock.advance(90_000)
  const { most } = await watch(30_000, memberAt(5).address)
  zone.agents[5]!.kill()
  start(5)
  const started = await watch(60_000, memberAt(5).address)
  t.ok(
    started.most <= most + 2 * STATEMENT_BYTES,
    `the longest request of its start has ${started.most} B, before ${most} B`,
  )
  const { engine } = zone.agents[5]!
  const oldest = zone.clock.now() - Math.min(...engine.table.producedAt)
  t.ok(oldest < exchangeOptions.recordTtlMs, `it has heard everybody: ${oldest} ms ago`)
  await zone.stop()
})
