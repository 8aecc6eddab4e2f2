// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'

const size = 10
const all = Array.from({ length: size }, (_, index) => index)
const names = (indices: readonly number[]): string =>
  indices
    .map(index => `n${index}`)
    .sort()
    .join()

/** Members of the smaller side, and which sides reach the cloud. */
const splits: [minority: number, cloud: 'both' | 'majority' | 'minority' | 'none'][] = [
  [3, 'both'],
  [5, 'both'],
  [5, 'none'],
  [3, 'majority'],
  [3, 'minority'],
  [1, 'both'],
  [1, 'none'],
]

for (const [smaller, cloud] of share(t, splits, 1, 'splits')) {
  const what = `${smaller}/${size - smaller}, cloud for ${cloud}`
  t.test(`partition ${what}`, async t => {
    const minority = all.slice(0, smaller)
    const majority = all.slice(smaller)
    await scenario(t, { what, size, seed: 10 + smaller }, async world => {
      await world.settled(30_000)
      if (cloud === 'none' || cloud === 'majority') world.cutCloud(...minority)
      if (cloud === 'none' || cloud === 'minority') world.cutCloud(...majority)
      const cutAt = world.clock.now()
      world.partition(minority, majority)
      await world.run(20_000)
      const sides = [
        [minority, majority],
        [majority, minority],
      ] as const
      for (const [here, there] of sides)
        for (const index of here)
          t.equal(
            world.downFrom(index).sort().join(),
            names(there),
            `n${index} hides the other side and nobody else`,
          )
      await world.run(40_000)
      const isDecided = smaller < 4 && (cloud === 'both' || cloud === 'majority')
      t.equal(
        world.condemned().join(),
        isDecided ? names(minority) : '',
        'only a majority that reaches the cloud condemns',
      )
      const writes = world.writesSince(cutAt)
      t.equal(writes.length, isDecided ? smaller : 0, `one write for each: ${writes.join()}`)

      world.network.healAll()
      world.healCloud(...all)
      const ms = await world.until(() => world.allSee(), 15_000)
      t.ok(ms !== undefined, `every local view is right ${ms} ms after the heal`)
      await world.run(45_000)
      t.strictSame(world.condemned(), [], 'and the marks are taken off')
    })
  })
}

t.test('a link that is broken between two, or one way only, condemns nobody', async t => {
  for (const oneWay of [true, false]) {
    const what = oneWay ? 'one way' : 'both ways'
    await scenario(t, { what, size: 5, seed: 4 }, async world => {
      await world.settled(30_000)
      const [a, b] = [world.machine(1).address, world.machine(3).address]
      world.network.cut(a, b)
      if (!oneWay) world.network.cut(b, a)
      await world.run(90_000)
      t.strictSame(world.downFrom(1), ['n3'], `${what}: who cannot reach it hides it`)
      t.strictSame(world.downFrom(3), ['n1'])
      for (const index of [0, 2, 4]) t.strictSame(world.downFrom(index), [], 'nobody else does')
      t.strictSame(world.writesSince(0), [])
      world.network.healAll()
      t.ok((await world.until(() => world.allSee(), 15_000)) !== undefined)
    })
  }
})

t.test('a node that hears nobody but is heard: one-way links from all', async t => {
  await scenario(t, { what: 'deaf', size: 5, seed: 5 }, async world => {
    await world.settled(30_000)
    for (const index of [0, 1, 2, 3])
      world.network.cut(world.machine(index).address, world.machine(4).address)
    await world.run(40_000)
    t.strictSame(world.condemned(), ['n4'])
    t.equal(world.writesSince(0).length, 1)
    world.network.healAll()
    t.ok((await world.until(() => world.allSee(), 15_000)) !== undefined)
  })
})
