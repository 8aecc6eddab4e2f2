// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { coreScenario } from './core-scenario.js'
import { memberOf } from '../../testkit/zone/core-agent.js'

for (const { size, loss, seed, hideMs, flags } of [
  { size: 70, loss: 0, seed: 4, hideMs: 20_000, flags: [] },
  { size: 40, loss: 0.1, seed: 14, hideMs: 26_000, flags: ['--mesh-max=16'] },
]) {
  const what = `N=${size} on rings, 30/70, ${100 * loss} % lost`
  t.test(`${what}: the minority writes nothing, backup observers watch the lonely`, async t => {
    await coreScenario(t, { what, size, seed, loss, flags }, async zone => {
      const few = zone.live.filter(n => n % 10 < 3)
      const many = zone.live.filter(n => n % 10 >= 3)
      zone.partition(few, many)
      const isHidden = (): boolean =>
        few.every(n => zone.downFrom(n).join() === many.join()) &&
        many.every(n => zone.downFrom(n).join() === few.join())
      const tookMs = await zone.until(isHidden, 40_000)
      t.ok(tookMs !== undefined && tookMs <= hideMs, `hidden from each other after ${tookMs} ms`)
      await zone.run(Math.max(0, 30_000 - tookMs!))
      t.same(
        zone.writes.filter(({ by, node }) => few.includes(by) || many.includes(node)),
        [],
        'the minority writes nothing, and nobody of the majority is written',
      )
      t.equal(zone.marked.size, few.length, 'the majority writes all of it')
      t.equal(zone.writes.length, few.length, 'each once')
      const atWork = few.some(n => {
        const { table } = zone.agents[n]!.state
        return few.some(node => {
          const index = table.roster.indexOf(memberOf(node).name)!
          return table.observersOf(index).length > table.topology.observersOf(index).length
        })
      })
      t.ok(atWork, 'some of the minority lost nearly all their observers')
      zone.network.healAll()
      const isClean = (): boolean => zone.live.every(n => zone.downFrom(n).length === 0)
      const cleanMs = await zone.until(isClean, 15_000)
      t.ok(cleanMs !== undefined, `all clear ${cleanMs} ms after the end`)
      await zone.run(20_000)
      t.equal(zone.marked.size, 0)
      t.equal(zone.writes.length, 2 * few.length, 'each cleared once')
    })
  })
}
