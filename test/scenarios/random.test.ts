// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Random } from '../../core/random.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import { shareOf } from '../../testkit/share.js'
import { World } from '../../testkit/zone/world.js'

const SIZE = 5
const SEEDS = shareOf(t, 200, 12, 'zones')

type Fault = (world: World, index: number, random: Random) => void

/** What may happen to a zone. Each fault can be undone by `mend`. */
const faults: readonly Fault[] = [
  (world, index) => {
    if (world.machine(index).isOn) world.crash(index)
  },
  (world, index) => {
    if (world.machine(index).isOn) world.killAgent(index)
  },
  (world, index) => {
    if (world.machine(index).isOn) world.freeze(index)
  },
  (world, index) => {
    if (world.machine(index).isOn) world.machine(index).kubelet = 'sick'
  },
  (world, index) => world.cutCloud(index),
  world => world.cutCloud(...world.indices),
  (world, index) => {
    world.machine(index).isBlind = true
  },
  (world, index, random) => {
    const to = (index + 1 + random.below(SIZE - 1)) % SIZE
    world.network.cut(world.machine(index).address, world.machine(to).address)
  },
  (world, _, random) => {
    const sides = world.indices.map(() => random.below(2))
    world.partition(
      world.indices.filter(index => sides[index] === 0),
      world.indices.filter(index => sides[index] === 1),
    )
  },
  (world, _, random) => {
    world.network.loss = random.below(30) / 100
  },
  (world, index, random) => {
    world.machine(index).wall.offsetMs += (random.below(3) - 1) * 86_400_000
  },
]

const mend = (world: World): void => {
  world.network.healAll()
  world.network.loss = 0
  for (const index of world.indices) {
    const machine = world.machine(index)
    machine.isBlind = false
    if (machine.isFrozen) world.thaw(index)
    if (!machine.isOn) world.repair(index)
    machine.kubelet = 'well'
    if (machine.agent === undefined) world.boot(index)
  }
  world.healCloud(...world.indices)
}

/** One zone, three faults at random moments, and whether it finds back; what went wrong, in words. */
const play = async (seed: number): Promise<string[]> => {
  const random = seededRandom(seed * 104_729)
  const world = new World(SIZE, { seed, profile: 'fast' })
  await world.settled(3_000)
  const played: string[] = []
  for (let step = 0; step < 3; step++) {
    const which = random.below(faults.length)
    const index = random.below(SIZE)
    played.push(`${which}@n${index}`)
    faults[which]!(world, index, random)
    await world.run(500 * (1 + random.below(5)))
  }
  mend(world)
  const isWell = (): boolean => world.allSee() && world.condemned().length === 0
  const ms = await world.until(isWell, 40_000)
  await world.stop()
  const left = world.clock.waiting
  return [
    ...world.observer.broken,
    ...(ms === undefined ? [`not well again: ${world.condemned().join()}`] : []),
    ...(left > 0 ? [`${left} timers left`] : []),
  ].map(trouble => `seed ${seed} (${played.join(' ')}): ${trouble}`)
}

t.test(
  `${SEEDS} zones with random faults: nothing that must never happen, and all find back`,
  async t => {
    const troubles: string[] = []
    for (let seed = 1; seed <= SEEDS; seed++) troubles.push(...(await play(seed)))
    t.strictSame(troubles, [])
  },
)
