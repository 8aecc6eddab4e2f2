// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'

const losses: [loss: number, size: number, minutes: number][] = [
  [0.3, 3, 10],
  [0.1, 5, 10],
  [0.2, 5, 10],
  [0.3, 7, 5],
]
for (const [loss, size, minutes] of share(t, losses, 1, 'losses')) {
  const what = `${loss * 100} % loss, N=${size}`
  t.test(
    `${what}: nobody is condemned for ${minutes} minutes, and a death is still seen`,
    async t => {
      await scenario(t, { what, size, seed: 3, loss, jitterMs: 20 }, async world => {
        await world.settled(minutes * 60_000)
        t.strictSame(world.writesSince(0), [])
        world.crash(size - 1)
        const seen = await world.until(() => world.allSee(size - 1), 30_000)
        t.ok(seen !== undefined, `seen after ${seen} ms`)
        const written = await world.until(() => world.condemned().length > 0, 30_000)
        t.ok(written !== undefined, 'and written')
        await world.run(20_000)
        t.strictSame(world.condemned(), [`n${size - 1}`])
        t.equal(world.writesSince(0).length, 1)
      })
    },
  )
}

const flaps: [onMs: number, offMs: number, most: number][] = [
  [15_000, 15_000, 72],
  [60_000, 60_000, 60],
  [5_000, 5_000, 40],
]
for (const [onMs, offMs, most] of share(t, flaps, 0, 'paces of flapping')) {
  const what = `${offMs / 1_000} s down, ${onMs / 1_000} s up`
  t.test(`a node that flaps is damped: ${what}`, async t => {
    const minutes = 20
    await scenario(t, { what, size: 5, seed: 2 }, async world => {
      await world.settled(30_000)
      for (let at = 0; at < minutes * 60_000; at += onMs + offMs) {
        world.network.powerOff(world.machine(4).address)
        await world.run(offMs)
        world.network.powerOn(world.machine(4).address)
        await world.run(onMs)
      }
      const perHour = (world.writesSince(0).length * 60) / minutes
      t.comment(`${what}: ${perHour} writes per hour`)
      t.ok(perHour <= most, `${perHour} writes per hour, at most ${most}`)
      await world.run(300_000)
      t.strictSame(world.condemned(), [], 'who stays up is cleared in the end')
      t.ok(world.allSee())
    })
  })
}

t.test('a slow peer: answers that take 1.5 s', async t => {
  await scenario(t, { what: 'slow', size: 5, seed: 6 }, async world => {
    await world.settled(30_000)
    world.slowDown(2, 750)
    await world.run(300_000)
    t.strictSame(world.writesSince(0), [], 'nobody is condemned')
    for (const index of world.indices.filter(index => index !== 2))
      t.strictSame(world.downFrom(index), [], `n${index} hides nobody`)
    t.strictSame(world.downFrom(2), [], 'the slow one hides nobody either')
    world.crash(4)
    t.ok((await world.until(() => world.allSee(4), 20_000)) !== undefined, 'a death is seen')
  })
  await scenario(t, { what: 'too slow', size: 5, seed: 6 }, async world => {
    await world.settled(30_000)
    world.slowDown(2, 5_000)
    await world.run(120_000)
    for (const index of world.indices.filter(index => index !== 2))
      t.ok(
        world.downFrom(index).every(name => name === 'n2'),
        `n${index} hides at most the slow one`,
      )
    world.slowDown(2, 0)
    t.ok((await world.until(() => world.allSee(), 15_000)) !== undefined)
  })
})

t.test('a bad checker, all of whose own probes fail, suspects itself and hides nobody', async t => {
  for (const size of share(t, [5, 3, 10], 1, 'sizes')) {
    await scenario(t, { what: `N=${size}`, size, seed: 8 }, async world => {
      await world.settled(30_000)
      world.machine(1).isBlind = true
      await world.run(12_000)
      for (let step = 0; step < 16; step++) {
        await world.run(5_000)
        t.ok(world.allSee(), `N=${size}: nobody is hidden, by itself or by others`)
      }
      t.ok(world.machine(1).agent?.views.zone().selfSuspect, 'it suspects itself')
      t.strictSame(world.writesSince(0), [])
      world.crash(0)
      if (size > 3) {
        await world.until(() => world.condemned().length > 0, 30_000)
        t.strictSame(world.condemned(), ['n0'], 'the others still decide')
        t.ok(world.allSee(0), 'and it follows them')
      }
    })
  }
})
