// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { HEADER_BYTES, TYPE } from '../../agent/stages/exchange/wire.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** How old the record of a node is at its peers, in seconds, at most. */
const oldest = (world: World, index: number): number =>
  Math.max(
    ...world.indices
      .filter(other => other !== index)
      .map(other => world.machine(other).agent?.views.node(`n${index}`)?.recordAgeSeconds ?? 9e9),
  )

/** Every heartbeat that a node sent, run by run. */
const listenToHeartbeats = (
  world: World,
): Map<bigint, Map<bigint, [least: number, most: number]>> => {
  const runs = new Map<bigint, Map<bigint, [number, number]>>()
  world.network.onWire = (bytes, route) => {
    if (route === 'result' || bytes.length < HEADER_BYTES) return
    if (bytes[5] !== TYPE.gossip && bytes[5] !== TYPE.vote) return
    const body = Buffer.from(bytes)
    const [sender, boot, hb] = [
      body.readBigUInt64LE(24),
      body.readBigUInt64LE(32),
      body.readUInt32LE(44),
    ]
    const ofSender = runs.get(sender) ?? new Map<bigint, [number, number]>()
    const [least, most] = ofSender.get(boot) ?? [hb, hb]
    runs.set(sender, ofSender.set(boot, [Math.min(least, hb), Math.max(most, hb)]))
  }
  return runs
}

const steps: [why: string, ms: number][] = [
  ['an hour on', HOUR],
  ['an hour back', -HOUR],
  ['thirty days on', 30 * DAY],
  ['thirty days back', -30 * DAY],
]
for (const [why, ms] of steps) {
  t.test(`wall clocks step ${why}, at run time and at boot: nothing moves`, async t => {
    await scenario(t, { what: why, size: 5, seed: 12 }, async world => {
      const runs = listenToHeartbeats(world)
      await world.settled()
      for (const index of [0, 3]) world.machine(index).wall.offsetMs += ms
      for (let step = 0; step < 6; step++) {
        await world.run(5_000)
        t.ok(world.allSee(), 'nobody is hidden while it runs')
      }
      world.machine(1).wall.offsetMs += ms
      await world.restartAgent(1, 1_000)
      await world.run(30_000)
      t.ok(world.allSee(), 'nor after a restart with a wrong clock')
      t.ok(oldest(world, 1) < 20, `its records are believed: ${oldest(world, 1)} s`)
      for (const ofSender of runs.values()) {
        const spans = [...ofSender.values()]
        spans.slice(1).forEach(([least], run) => {
          t.ok(least > spans[run]![1], `heartbeats only grow: ${spans[run]![1]} then ${least}`)
        })
      }
      t.strictSame(world.writesSince(0), [])
      world.crash(4)
      t.ok((await world.until(() => world.allSee(4), 12_000)) !== undefined, 'a death is seen')
      t.ok((await world.until(() => world.condemned().length > 0, 12_000)) !== undefined)
    })
  })
}

// With these seeds peers take what they know of the earlier run for the newer.
for (const ms of [-HOUR, HOUR])
  t.test(`a node whose clock steps by ${ms} ms at a restart is heard as soon`, async t => {
    for (const seed of [1, 4, 5, 9])
      await scenario(t, { what: `seed ${seed}`, size: 5, seed }, async world => {
        await world.settled()
        for (const index of [0, 3]) world.machine(index).wall.offsetMs += ms
        await world.run(30_000)
        world.machine(1).wall.offsetMs += ms
        await world.restartAgent(1, 1_000)
        await world.run(20_000)
        t.ok(oldest(world, 1) < 20, `its records are believed: ${oldest(world, 1)} s`)
        await world.run(10_000)
        t.ok(oldest(world, 1) < 20, `and stay so: ${oldest(world, 1)} s`)
      })
  })

t.test('an agent that restarts, with its disk and without', async t => {
  for (const hasDisk of [true, false]) {
    const what = hasDisk ? 'with disk' : 'without disk'
    await scenario(t, { what, size: 5, seed: 13 }, async world => {
      await world.settled()
      world.killAgent(2)
      if (!hasDisk) world.machine(2).disk.clear()
      await world.run(5_000)
      // Even a clock that is set back does not hold it up for long.
      world.machine(2).wall.offsetMs = -HOUR
      world.boot(2)
      await world.run(25_000)
      t.ok(world.allSee(), `${what}: nobody is hidden`)
      t.ok(oldest(world, 2) < 20, `${what}: its records are believed`)
      t.strictSame(world.writesSince(0), [])
      t.equal(world.machine(2).agent?.views.zone().cloudLink.state, 'up')
    })
  }
})

t.test('a rolling update of all agents changes no verdict and no local view', async t => {
  for (const size of [3, 7]) {
    await scenario(t, { what: `N=${size}`, size, seed: 14 }, async world => {
      await world.settled()
      const before = world.machines.map(({ agent }) => agent?.views.counts().flips)
      t.ok(
        before.every(flips => flips?.local === 0),
        'no local view ever moved',
      )
      for (const index of world.indices) {
        await world.restartAgent(index, 3_000)
        await world.run(15_000)
        t.ok(world.allSee(), `N=${size}: nobody is hidden after n${index}`)
      }
      for (const { agent, name } of world.machines)
        t.equal(agent?.views.counts().flips.local, 0, `${name} never hid anybody`)
      t.strictSame(world.writesSince(0), [])
    })
  }
})

t.test('the whole zone boots while the cloud is cut', async t => {
  await scenario(t, { what: 'cold boot', size: 5, seed: 15 }, async world => {
    await world.settled()
    for (const index of world.indices) world.crash(index)
    world.cutCloud(...world.indices)
    await world.run(60_000)
    for (const index of [0, 1, 2, 3]) world.repair(index)
    world.cutCloud(...world.indices)
    await world.run(60_000)
    t.ok(world.allSee(4), 'they vote: every local view shows who did not come back')
    for (const index of [0, 1, 2, 3]) {
      const zone = world.machine(index).agent?.views.zone()
      t.equal(zone?.roster.source, 'disk')
      t.equal(zone?.keys.state, 'ok')
    }
    t.strictSame(world.writesSince(0), [], 'and write nothing')
    const healedAt = world.clock.now()
    world.healCloud(...world.indices)
    await world.run(60_000)
    t.strictSame(world.condemned(), ['n4'])
    t.equal(world.writesSince(healedAt).length, 1, world.writesSince(healedAt).join())
    t.equal(world.machine(0).agent?.views.zone().roster.source, 'api')
  })
})

t.test('an agent without keys or zone says nothing, and is no dead node', async t => {
  await scenario(t, { what: 'no memory', size: 4, seed: 16 }, async world => {
    await world.settled()
    world.cutCloud(3)
    world.killAgent(3)
    world.machine(3).disk.clear()
    world.boot(3)
    await world.run(120_000)
    t.equal(world.machine(3).agent?.views.readiness().isReady, false)
    for (const index of [0, 1, 2]) t.strictSame(world.downFrom(index), [])
    t.strictSame(world.condemned(), [])
    world.healCloud(3)
    await world.run(30_000)
    t.ok(world.machine(3).agent?.views.readiness().isReady)
    t.ok(world.allSee())
  })
})
