// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { coreScenario } from './core-scenario.js'
import { share } from '../../testkit/share.js'
import type { CoreZone } from '../../testkit/zone/core-zone.js'

/** The zone's new size; its new members boot at once, the others hear of them one after the other. */
const growTo = (zone: CoreZone, size: number, spreadMs: number): void => {
  const before = zone.size
  zone.resize(size, spreadMs)
  for (let n = before; n < size; n++) zone.boot(n)
}

const kindOf = (zone: CoreZone): string => zone.agents[0]!.state.table.topology.kind

const losses = [
  { loss: 0.1, seed: 9 },
  { loss: 0, seed: 5 },
]
for (const { loss, seed } of share(t, losses, 1, 'losses')) {
  const what = `through mesh-max and back, ${100 * loss} % lost`
  t.test(`${what}: no false verdict while a node is down`, async t => {
    await coreScenario(t, { what, size: 24, seed, loss, flags: ['--mesh-max=26'] }, async zone => {
      zone.crash(7)
      await zone.run(20_000)
      t.equal(zone.writes.length, 1)
      const isRight = (n: number, down: readonly number[]): boolean =>
        n >= 24 ? down.every(node => node === 7) : down.join() === '7'
      growTo(zone, 30, 3_000)
      t.same(await zone.watch(22_000, isRight), [], 'on the way to rings')
      t.equal(kindOf(zone), 'kring')
      zone.resize(24, 3_000)
      t.same(await zone.watch(22_000, isRight), [], 'and back to the mesh')
      t.equal(kindOf(zone), 'mesh')
      t.equal(zone.writes.length, 1, 'nothing was written meanwhile')
    })
  })
}

t.test('a node that dies while the zone changes over is seen and written once', async t => {
  const flags = ['--mesh-max=20']
  const changes = [
    ['mesh to rings', 18, 26],
    ['rings to mesh', 26, 18],
  ] as const
  for (const [what, from, to] of share(t, changes, 1, 'changes')) {
    await coreScenario(t, { what, size: from, seed: 10 + from, loss: 0.05, flags }, async zone => {
      growTo(zone, to, 4_000)
      await zone.run(2_000)
      zone.crash(3)
      const isSeen = (): boolean => zone.live.every(n => zone.isDownFrom(n, 3))
      const seenMs = await zone.until(isSeen, 40_000)
      t.ok(seenMs !== undefined && seenMs <= 26_000, `${what}: all see it after ${seenMs} ms`)
      t.same(await zone.watch(15_000, (_, down) => down.join() === '3'), [], what)
      t.match(zone.writes, [{ node: 3, isDead: true }], `${what}: written once`)
    })
  }
})

t.test('a zone that swings around mesh-max does not make anybody down', async t => {
  const what = 'swings'
  const flags = ['--mesh-max=20']
  await coreScenario(t, { what, size: 20, seed: 31, loss: 0.05, flags }, async zone => {
    for (let turn = 0; turn < 6; turn++) {
      growTo(zone, turn % 2 === 0 ? 21 : 20, 1_000)
      const wrong = await zone.watch(7_000, (_, down) => down.length === 0)
      t.same(wrong, [], `turn ${turn}`)
    }
    t.same(zone.writes, [])
  })
})
