// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { World } from '../support/world.js'

t.test(
  'a node that dies is seen by all, written once by one, and cleared once when it is back',
  async t => {
    for (const size of [3, 5, 10]) {
      const world = new World(size, { seed: size })
      await world.settled()
      t.strictSame(world.writesSince(0), [], `N=${size}: a healthy zone writes nothing`)
      t.strictSame(world.downFrom(0), [])

      const diedAt = world.clock.now()
      world.crash(size - 1)
      await world.clock.advance(14_000)
      const dead = `n${size - 1}`
      for (const index of world.indices.slice(0, -1)) {
        t.strictSame(world.downFrom(index), [dead], `N=${size}: n${index} sees it`)
      }
      await world.clock.advance(20_000)
      const condemning = world.writesSince(diedAt)
      t.equal(condemning.length, 1, `N=${size}: one write: ${condemning.join()}`)
      t.strictSame(world.condemned(), [dead])

      const backAt = world.clock.now()
      world.repair(size - 1)
      await world.clock.advance(60_000)
      t.strictSame(world.condemned(), [])
      t.strictSame(world.downFrom(0), [])
      t.equal(
        world.writesSince(backAt).length,
        1,
        `N=${size}: one write clears it: ${world.writesSince(backAt).join()}`,
      )
      await world.stop()
    }
  },
)
