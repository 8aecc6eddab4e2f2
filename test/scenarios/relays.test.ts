// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

/**
 * Somebody without a key takes the port that an agent left, passes on to another agent what comes there, and hands back
 * what that one signs.
 */
const relay = (world: World, at: number, to: number): (() => void) =>
  world.network.listen(world.machine(at).address, (route, body, from) => {
    const answer = world.machine(to).agent!.inbox.receive(route, body, from)
    return { status: answer.status, body: Buffer.from(answer.body) }
  })

t.test(
  'FA1: who passes requests on to other agents has nobody marked, and no mark taken off',
  async t => {
    await scenario(t, { what: 'relay', size: 5, seed: 71 }, async world => {
      await world.settled()
      const since = world.clock.now()
      world.killAgent(4)
      const end = relay(world, 4, 3)
      await world.run(240_000)
      t.match(world.machine(0).agent!.views.node('n4')!.probe, {
        reason: /n3 answers at its address/,
      })
      t.strictSame(
        world.writesSince(since),
        [],
        'its kubelet answers, and no other member has its address',
      )
      t.ok(world.allSee())
      end()
      world.crash(4)
      const found = await world.until(() => world.condemned().length > 0, 60_000)
      t.ok(found !== undefined, `when it dies it is marked, after ${found} ms`)
      world.network.powerOn(world.machine(4).address)
      const again = relay(world, 4, 3)
      world.machine(4).impostor = 401
      await world.run(240_000)
      t.strictSame(world.condemned(), ['n4'], 'who answers in its place as well does not clear it')
      again()
    })
  },
)
