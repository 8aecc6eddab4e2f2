// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { LinkFlaps } from '../../agent/stages/write/link-flaps.js'
import { ControlPlane } from './control-plane.js'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const SIZE = 5

const isTainted = (world: World): boolean => world.cluster.node('n0').taints.length > 0

t.test(
  'FA16: a cloud link that flaps is damped in what is written, and shown as it is',
  async t => {
    // Kept for 0, 1, 2, 4 and 8 minutes: five times on and off in the first quarter of an hour, two patches each.
    const most = 20
    const paces = [
      [30_000, 30_000],
      [60_000, 45_000],
      [45_000, 150_000],
    ] as const
    for (const [cutMs, wholeMs] of share(t, paces, 1, 'paces')) {
      const what = `${cutMs / 1000} s cut, ${wholeMs / 1000} s whole`
      await scenario(t, { what, size: SIZE, seed: 61 }, async world => {
        const names = world.machines.map(({ name }) => name)
        const control = new ControlPlane(world.clock, world.cluster, names)
        await world.settled()
        const since = world.clock.now()
        const shown = new Set<string | undefined>()
        while (world.clock.now() < since + 1_200_000) {
          world.cutCloud(0)
          await world.run(cutMs)
          world.healCloud(0)
          await world.run(wholeMs - 1_000)
          shown.add(world.machine(1).agent?.views.node('n0')?.class)
          await world.run(1_000)
        }
        const writes = world.writesSince(since).length
        const events = world.cluster.events.length
        t.ok(writes <= most, `${what}: ${writes} patches in 20 minutes`)
        t.ok(events <= most, `${what}: ${events} Events`)
        t.strictSame([...shown], ['healthy'], 'status says how the link is, not how it is marked')
        t.ok(isTainted(world), 'new pods are kept away all the time')
        const guards = world
          .machine(1)
          .agent?.views.node('n0')
          ?.guards.map(({ kind }) => kind)
        t.ok(guards?.includes('flapping'), 'and status says why')
        t.equal(control.evictions.get('n0'), undefined, 'nothing was evicted')
        await world.run(660_000)
        t.notOk(isTainted(world), 'the marks go once the link stays')
        control.stop()
      })
    }
  },
)

t.test('FA16: a renewal right before the next cut ends no holding of the marks', async t => {
  for (const seed of share(t, [1, 2], 1, 'seeds')) {
    const zone = { what: `seed ${seed}`, size: SIZE, seed, profile: 'fast' } as const
    await scenario(t, zone, async world => {
      await world.settled(20_000)
      for (let cycle = 0; cycle < 5; cycle++) {
        world.cutCloud(0)
        await world.run(18_000)
        world.healCloud(0)
        await world.run(7_000)
      }
      const { writes } = world.cluster
      const marked = writes.filter(({ node, tainted }) => node === 'n0' && tainted.length > 0)
      t.equal(marked.length, 2, 'after the second cut they stay')
      t.ok(isTainted(world))
    })
  }
})

/** What all others say of the last node. */
const said = ({ machines }: World): (string | undefined)[] =>
  machines.slice(0, -1).map(({ agent }) => agent?.views.node(machines.at(-1)!.name)?.probe?.vote)

/** The last node answers nobody until all others have seen it, and is on again for a moment. */
const fallBriefly = async (t: Test, world: World): Promise<void> => {
  const { address } = world.machines.at(-1)!
  world.network.powerOff(address)
  const isSeen = (): boolean => said(world).every(vote => vote === 'down')
  t.ok((await world.until(isSeen, 20_000)) !== undefined)
  world.network.powerOn(address)
  await world.run(3_000)
}

t.test('a node that fell twice for a moment and answers again is not marked', async t => {
  for (const size of share(t, [3, 2, 5], 1, 'sizes')) {
    await scenario(t, { what: `N=${size}`, size, seed: 3 }, async world => {
      const { name } = world.machine(size - 1)
      await world.settled(30_000)
      await fallBriefly(t, world)
      await fallBriefly(t, world)
      const { probe, votes, guards } = world.machine(0).agent!.views.node(name)!
      t.match(probe, { vote: 'not-looked', failedRounds: 0, reason: 'answers again, but flapped' })
      t.ok(probe!.heldSeconds > 5)
      t.match(votes, { down: 0, notLooked: size - 1 })
      t.strictSame(guards, [], 'nothing is on its way')
      await world.run(60_000)
      t.strictSame(world.writesSince(0), [], 'it lived all the time')
      t.ok(world.allSee())
    })
  }
})

t.test('a node that flapped, answers and dies for good is marked as soon as any other', async t => {
  for (const size of share(t, [3, 5], 1, 'sizes')) {
    await scenario(t, { what: `N=${size}`, size, seed: 4 }, async world => {
      await world.settled(30_000)
      await fallBriefly(t, world)
      await fallBriefly(t, world)
      world.crash(size - 1)
      const ms = await world.until(() => world.condemned().length > 0, 30_000)
      t.ok(ms !== undefined && ms <= 13_000, `marked after ${ms} ms`)
      world.repair(size - 1)
      t.ok((await world.until(() => world.condemned().length === 0, 60_000)) !== undefined)
    })
  }
})

t.test('the mark of a node that flaps stays until it has answered for a while', async t => {
  await scenario(t, { what: 'held after a death', size: 5, seed: 5 }, async world => {
    await world.settled(30_000)
    for (let fall = 0; fall < 2; fall++) {
      world.crash(4)
      t.ok((await world.until(() => world.condemned().length > 0, 30_000)) !== undefined)
      world.repair(4)
      if (fall === 0) await world.until(() => world.condemned().length === 0, 30_000)
    }
    await world.run(9_000)
    t.strictSame(world.condemned(), ['n4'], 'it answers, and is not believed yet')
    t.strictSame(world.downFrom(0), ['n4'], 'nor is it shown')
    const ms = await world.until(() => world.condemned().length === 0, 30_000)
    t.ok(ms !== undefined && ms <= 12_000, `cleared after ${ms} more ms`)
    t.equal(world.writesSince(0).length, 4)
  })
})

t.test('FA16: how long marks are kept', t => {
  const flaps = new LinkFlaps()
  let now = 0
  const cycle = (wholeMs: number): number => {
    flaps.cut('a', now)
    flaps.cut('a', (now += 30_000))
    const heldMs = flaps.restored('a', now) - now
    t.equal(flaps.restored('a', now + 1), flaps.heldUntil('a'), 'counted from the link’s return')
    now += wholeMs
    return heldMs
  }
  t.equal(flaps.restored('a', 0), -Infinity, 'nothing is known')
  const held = [1, 2, 3, 4, 5, 6, 7].map(() => cycle(60_000))
  t.strictSame(
    held,
    [-Infinity, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000],
    'twice as long each time, to ten minutes',
  )
  now += 1_800_000
  t.equal(cycle(0), -Infinity, 'after half an hour it is forgotten')
  flaps.cut('a', now)
  t.equal(flaps.heldUntil('a'), -Infinity, 'while the link is cut nothing is held back')
  t.equal(flaps.restored('a', now), now + 60_000)
  flaps.cutBriefly('a')
  t.equal(flaps.restored('a', now + 50_000), now + 110_000, 'a short break begins it anew')
  flaps.cutBriefly('b')
  t.equal(flaps.restored('b', now), -Infinity, 'and is no cut')
  flaps.keepOnly(() => true)
  t.ok(flaps.heldUntil('a') > now)
  flaps.keepOnly(() => false)
  t.equal(flaps.restored('a', now), -Infinity, 'FA21: who left is forgotten')
  t.end()
})
