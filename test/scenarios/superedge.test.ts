// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Route } from '../../agent/ports/transport.js'
import { diesMarked, scenario } from '../../testkit/zone/scenario.js'
import { SuperEdgeAgent } from './superedge-agent.js'

const key = 'a key of the test world'

for (const dialect of ['v0.6', 'v0.9'] as const) {
  for (const [size, foreign] of [
    [5, 2],
    [4, 1],
  ] as const) {
    const what = `${foreign} SuperEdge ${dialect} agents of ${size}`
    t.test(`a mixed zone decides: ${what}`, async t => {
      await scenario(t, { what, size, seed: 30, flags: ['--profile=superedge'] }, async world => {
        const addresses = world.machines.map(({ address }) => address)
        const { clock, network } = world
        const ours = world.indices.slice(0, size - foreign)
        const others = world.indices.slice(size - foreign).map(index => {
          const { address } = world.machine(index)
          world.machine(index).isForeign = true
          return new SuperEdgeAgent({ address, dialect, key }, { addresses, clock, network })
        })
        // As an agent of ours from before there were identities.
        world.machine(1).flags = ['--identity=off']
        for (const index of ours) world.boot(index)
        await world.run(90_000)
        const isSigned = world.machine(0).agent?.views.node('n2')?.peer?.isSigned
        t.equal(isSigned, true, 'who has an identity signs')
        t.ok(world.allSee(), 'nobody is hidden')
        t.strictSame(world.writesSince(0), [])
        const peer = world.machine(0).agent?.views.node(`n${size - 1}`)?.peer
        t.equal(peer?.dialect, `superedge-${dialect}`)
        for (const other of others)
          for (const index of ours)
            t.ok(other.received.has(addresses[index]!), `they get the results of n${index}`)

        world.crash(0)
        const ms = await world.until(() => world.condemned().length > 0, 60_000)
        t.ok(ms !== undefined, `condemned after ${ms} ms`)
        t.ok(world.allSee(0))
        await world.run(30_000)
        t.equal(world.writesSince(0).length, 1)
        for (const other of others)
          t.equal(other.received.get(addresses[1]!)?.get(addresses[0]!), false, 'they are told')
        for (const other of others) other.stop()
      })
    })
  }
}

t.test('what was recorded in an outage and is sent again later changes nothing', async t => {
  await scenario(t, { what: 'replay', size: 5, seed: 31 }, async world => {
    const recorded: { body: Uint8Array; route: Route }[] = []
    await world.settled()
    world.network.onWire = (body, route, kind) => {
      if (kind === 'request' && recorded.length < 2_000) recorded.push({ body, route })
    }
    await diesMarked(t, world, 4)
    world.network.onWire = undefined
    world.repair(4)
    await world.run(60_000)
    t.strictSame(world.condemned(), [])

    const flips = (): string =>
      JSON.stringify(world.machines.map(({ agent }) => agent?.views.counts().flips))
    const before = flips()
    const since = world.clock.now()
    for (const { body, route } of recorded) {
      for (const index of world.indices)
        world
          .machine(index)
          .agent?.inbox.receive(route, body, world.machine((index + 1) % 5).address)
      await world.run(100)
    }
    await world.run(20_000)
    t.ok(recorded.length > 100, `${recorded.length} bodies`)
    t.equal(flips(), before, 'nothing moved')
    t.strictSame(world.writesSince(since), [])
    t.ok(world.allSee())
    const refused = world.machine(0).agent?.views.counts().exchange.refused
    t.ok(Object.keys(refused ?? {}).length > 0, JSON.stringify(refused))
  })
})
