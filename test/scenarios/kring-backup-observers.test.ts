// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { coreScenario } from './core-scenario.js'
import { memberOf } from '../../testkit/zone/core-agent.js'
import type { CoreZone } from '../../testkit/zone/core-zone.js'

/** Who watches the node, and who stands in for it at this moment, as agent `by` knows. */
const watchersOf = (zone: CoreZone, by: number, node: number): [number[], number[]] => {
  const { table, roster } = zone.agents[by]!.state
  const index = roster.indexOf(memberOf(node).name)!
  const nodes = (list: ArrayLike<number>): number[] =>
    Array.from(list, other => zone.nodeAt(roster, other))
  const observers = nodes(table.topology.observersOf(index))
  const all = nodes(table.observersOf(index))
  return [observers, all.filter(n => !observers.includes(n))]
}

for (const { loss, seed } of [
  { loss: 0, seed: 21 },
  { loss: 0.1, seed: 22 },
]) {
  const what = `N=48 on rings, ${100 * loss} % lost`
  t.test(`${what}: a node that lost its observers is watched by backup observers`, async t => {
    const flags = ['--mesh-max=16']
    await coreScenario(t, { what, size: 48, seed, loss, flags }, async zone => {
      const node = 5
      const far = 33
      const [observers, none] = watchersOf(zone, far, node)
      t.same(none, [], 'nobody stands in for a node that is watched')
      const lost = observers.filter(n => n !== far)
      for (const n of lost) zone.crash(n)
      await zone.run(40_000)
      t.same([...zone.marked].sort(), [...lost].sort(), 'the observers are written')
      const by = zone.live.find(n => n !== node)!
      const [, backups] = watchersOf(zone, by, node)
      t.ok(backups.length >= 3, `${backups.length} stand in`)
      t.same(
        await zone.watch(5_000, (_, down) => !down.includes(node)),
        [],
        'and say that it is up',
      )
      zone.crash(node)
      const seenMs = await zone.until(() => zone.live.every(n => zone.isDownFrom(n, node)), 20_000)
      t.ok(seenMs !== undefined && seenMs <= 15_000, `its crash is seen after ${seenMs} ms`)
      await zone.run(12_000)
      t.ok(zone.marked.has(node), 'and written')
      for (const n of lost) zone.boot(n)
      zone.boot(node)
      await zone.run(60_000)
      t.equal(zone.marked.size, 0, 'all are back')
      t.same(watchersOf(zone, by, node)[1], [], 'and the backup observers have gone home')
      t.equal(zone.writes.length, 2 * (lost.length + 1), 'each written once, and cleared once')
    })
  })
}
