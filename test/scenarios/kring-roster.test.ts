// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { coreScenario } from './core-scenario.js'
import { share } from '../../testkit/share.js'
import type { CoreZone } from '../../testkit/zone/core-zone.js'

const flags = ['--mesh-max=16']

/** How many rosters the live agents have at this moment. */
const rostersOf = (zone: CoreZone): number =>
  new Set(zone.live.map(n => zone.agents[n]!.state.roster.hash)).size

t.test('rings whose agents hear of new members over half a minute', async t => {
  const changes = [
    { what: 'six more, 10 % lost', from: 40, to: 46, seed: 43, loss: 0.1 },
    { what: 'six more', from: 40, to: 46, seed: 41, loss: 0 },
    { what: 'six fewer', from: 46, to: 40, seed: 42, loss: 0 },
  ]
  for (const { what, from, to, seed, loss } of share(t, changes, 1, 'changes')) {
    await coreScenario(t, { what, size: from, seed, loss, flags }, async zone => {
      zone.resize(to, 30_000)
      for (let n = from; n < to; n++) zone.boot(n)
      const early = await zone.watch(10_000, (_, down) => down.every(node => node >= to))
      t.same(early, [], `${what}: nobody is down for not being known to all`)
      t.equal(rostersOf(zone), 2, `${what}: two views of the zone`)
      zone.crash(11)
      const isSeen = (): boolean => zone.live.every(n => zone.isDownFrom(n, 11))
      const seenMs = await zone.until(isSeen, 30_000)
      t.ok(seenMs !== undefined && seenMs <= 15_000, `${what}: a crash is seen after ${seenMs} ms`)
      const late = await zone.watch(25_000, (_, down) => down.every(n => n === 11 || n >= to))
      t.same(late, [], `${what}: and nothing else`)
      t.equal(rostersOf(zone), 1)
      t.same(
        zone.writes.filter(({ node }) => node < to),
        zone.writes.filter(({ node, isDead }) => node === 11 && isDead),
      )
      t.ok(zone.marked.has(11), `${what}: written`)
    })
  }
})
