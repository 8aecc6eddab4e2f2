// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { coreScenario } from './core-scenario.js'
import { share } from '../../testkit/share.js'
import { memberOf } from '../../testkit/zone/core-agent.js'

const zones = [
  { size: 66, loss: 0.2, seed: 8, seenMs: 12_000 },
  { size: 100, loss: 0, seed: 3, seenMs: 8_000 },
]
for (const { size, loss, seed, seenMs } of share(t, zones, 0, 'large zones')) {
  const what = `N=${size} on rings, ${100 * loss} % lost`
  t.test(`${what}: a crash is seen by all and written once; recovery too`, async t => {
    await coreScenario(t, { what, size, seed, loss }, async zone => {
      t.equal(zone.agents[0]!.state.table.topology.kind, 'kring')
      zone.crash(42)
      const isSeen = (): boolean => zone.live.every(n => zone.isDownFrom(n, 42))
      const tookMs = await zone.until(isSeen, 30_000)
      t.ok(tookMs !== undefined && tookMs <= seenMs, `all see it after ${tookMs} ms`)
      const none = await zone.watch(8_000, (_, down) => down.join() === '42')
      t.same(none, [], 'and nobody else is called down')
      t.match(zone.writes, [{ node: 42, isDead: true }])
      zone.boot(42)
      const isClear = (): boolean => zone.live.every(n => zone.downFrom(n).length === 0)
      const backMs = await zone.until(isClear, 30_000)
      t.ok(backMs !== undefined && backMs <= seenMs, `all clear after ${backMs} ms`)
      await zone.run(12_000)
      t.equal(zone.writes.length, 2)
    })
  })
}

const losses = [
  { loss: 0.1, seed: 7 },
  { loss: 0, seed: 6 },
]
for (const { loss, seed } of share(t, losses, 1, 'losses')) {
  const what = `interest, ${100 * loss} % lost`
  t.test(`${what}: a link that is broken for two alone is seen by the one that asked`, async t => {
    const flags = ['--mesh-max=16']
    await coreScenario(t, { what, size: 40, seed, loss, flags }, async zone => {
      const { table } = zone.agents[0]!.state
      const other = zone.live.find(n => {
        const index = table.roster.indexOf(memberOf(n).name)!
        return n > 1 && table.topology.slotOf(table.self, index) < 0
      })!
      const others = zone.live.filter(n => n > 0)
      zone.network.cut(memberOf(0).address, memberOf(other).address)
      const ask = (): void =>
        zone.agents[0]!.check.setInterest([memberOf(other).name, 'nobody'], true)
      t.same(
        await zone.watch(15_000, (_, down) => down.length === 0),
        [],
        'not seen: others reach it',
      )
      ask()
      const seenMs = await zone.until(() => zone.isDownFrom(0, other), 20_000)
      t.ok(seenMs !== undefined, `seen after ${seenMs} ms`)
      t.same(
        await zone.watch(20_000, (n, down) => down.join() === (n === 0 ? `${other}` : '')),
        [],
        'by the one that asked, and by nobody else',
      )
      ask()
      await zone.run(50_000)
      t.same(zone.downFrom(0), [other], 'while it is asked again')
      await zone.run(12_000)
      t.same(zone.downFrom(0), [], 'not asked again: forgotten')
      t.notOk(others.some(n => zone.downFrom(n).length > 0))
      t.same(zone.writes, [])
    })
  })
}
