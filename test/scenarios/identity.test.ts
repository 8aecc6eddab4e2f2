// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'
import { BRIDGE } from '../../testkit/zone/machine.js'
import type { World } from '../../testkit/zone/world.js'

/** The cluster's Node object says that the node is there. */
const moveTo = (world: World, index: number, address: string): void => {
  const { name } = world.machine(index)
  world.cluster.put('node', name, {
    apiVersion: 'v1',
    kind: 'Node',
    spec: {},
    metadata: { annotations: world.cluster.node(name).annotations },
    status: {
      addresses: [{ type: 'InternalIP', address }],
      conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
    },
  })
}

t.test("FA6: a dead node does not live by a live node's address", async t => {
  await scenario(t, { what: 'borrowed address', size: 5, seed: 61 }, async world => {
    await world.settled()
    world.crash(4)
    t.ok((await world.until(() => world.condemned().length > 0, 30_000)) !== undefined)
    moveTo(world, 4, world.machine(3).address)
    for (let step = 0; step < 24; step++) {
      await world.run(10_000)
      t.strictSame(world.condemned(), ['n4'], 'its mark stays, and nobody else gets one')
      t.ok(world.allSee(4), 'nor does a service rely on it')
    }
    const views = world.machine(0).agent!.views
    t.match(views.node('n4')!.probe, { reason: /n3 answers at its address|also that of n3/ })
    t.match(views.node('n3')!.probe, { vote: 'up' }, 'the one that signs there loses nothing')
    const { inbox } = world.machine(0).agent!
    t.ok(inbox.isMember(world.machine(3).address), 'nor its share of connections')
    t.match(views.zone().roster.trouble, /n3, n4 all have the InternalIP|n4, n3 all have/)
    t.equal(views.counts().configProblems, 1)
  })
})

const addresses = [
  ["a live node's in other words", (world: World) => `::ffff:${world.machine(3).address}`],
  ['loopback', () => '127.0.0.1'],
  ['a bridge that every machine has', () => BRIDGE],
] as const
for (const [what, addressIn] of share(t, addresses, 1, 'addresses'))
  t.test(`FA6: a dead node does not live by an address that is ${what}`, async t => {
    await scenario(t, { what, size: 5, seed: 66 }, async world => {
      await world.settled()
      world.crash(4)
      t.ok((await world.until(() => world.condemned().length > 0, 30_000)) !== undefined)
      moveTo(world, 4, addressIn(world))
      for (let step = 0; step < 12; step++) {
        await world.run(10_000)
        t.strictSame(world.condemned(), ['n4'], 'its mark stays, and nobody else gets one')
        t.ok(world.allSee(4), 'nor does a service rely on it')
      }
    })
  })

t.test('FA6: nor by the address of a node of another zone', async t => {
  const zone = { what: 'another zone', size: 5, seed: 67, zone: 'here' } as const
  await scenario(t, zone, async world => {
    await world.settled()
    world.move(3, 'there')
    await world.run(5_000)
    world.crash(4)
    t.ok((await world.until(() => world.condemned().length > 0, 30_000)) !== undefined)
    world.setAddress(4, world.machine(3).address)
    for (let step = 0; step < 12; step++) {
      await world.run(10_000)
      t.strictSame(world.condemned(), ['n4'], 'its mark stays')
    }
    t.strictSame(world.downFrom(0), ['n4'], 'nor does a service rely on it')
    const { probe, peer } = world.machine(0).agent!.views.node('n4')!
    t.match(probe, { vote: 'not-looked', reason: /another agent answers at its address/ })
    t.equal(peer!.trouble, 'answered 421 wrong-zone')
  })
})

t.test('FA6: who dies while its Node names a live address is found out', async t => {
  await scenario(t, { what: 'dies there', size: 5, seed: 62 }, async world => {
    await world.settled()
    world.crash(4)
    moveTo(world, 4, world.machine(3).address)
    const found = await world.until(() => world.condemned().length > 0, 240_000)
    t.ok(found !== undefined, `marked after ${found} ms`)
    await world.run(60_000)
    t.strictSame(world.condemned(), ['n4'])
  })
})

t.test("FA6: an address that is our own is nobody else's", async t => {
  await scenario(t, { what: 'own address', size: 3, seed: 63 }, async world => {
    await world.settled()
    world.crash(2)
    t.ok((await world.until(() => world.condemned().length > 0, 30_000)) !== undefined)
    moveTo(world, 2, world.machine(0).address)
    await world.run(180_000)
    t.strictSame(world.condemned(), ['n2'])
    t.match(world.machine(0).agent!.views.node('n2')!.probe, { reason: /this node's own/ })
  })
})

t.test(
  'FA6: nor does it live by an address that is ours, whatever our Node object says',
  async t => {
    for (const isHeld of [false, true]) {
      const zone = { what: `held: ${isHeld}`, size: 3, seed: 67, profile: 'fast' } as const
      await scenario(t, zone, async world => {
        world.setAddress(0, world.machine(1).address)
        await world.settled(20_000)
        world.crash(2)
        t.ok((await world.until(() => world.condemned().includes('n2'), 30_000)) !== undefined)
        const probeOf = (index: number) => world.machine(index).agent!.views.node('n2')!.probe
        // Somebody on the way keeps what n1 sends, so that it hears no signature from there.
        if (isHeld)
          for (const index of [0, 2])
            world.network.hold(world.machine(1).address, world.machine(index).address)
        world.setAddress(2, world.machine(0).address)
        for (let ms = 0; ms < 30_000; ms += 100) {
          await world.run(100)
          if (!isHeld) t.not(probeOf(1)?.vote, 'up', 'asked who is there before an answer counts')
          t.not(probeOf(0)?.vote, 'up')
        }
        t.match(probeOf(0), { reason: /n0 answers at its address/ })
        t.match(probeOf(1), isHeld ? { vote: 'up' } : { reason: /n0 answers at its address/ })
        t.ok(world.condemned().includes('n2'), 'one answer and its own last word are no majority')
      })
    }
  },
)

t.test('FA17: an isolated node does not hold its own falls against its peers', async t => {
  await scenario(t, { what: 'isolations', size: 10, seed: 64 }, async world => {
    await world.settled()
    for (let time = 0; time < 5; time++) {
      world.partition([0], [1, 2, 3, 4, 5, 6, 7, 8, 9])
      await world.run(25_000)
      t.ok(world.downFrom(0).length >= 8, 'it sees its peers down')
      world.network.healAll()
      const back = await world.until(() => world.downFrom(0).length === 0, 30_000)
      t.ok(back !== undefined && back <= 5_000, `isolation ${time + 1}: all up again in ${back} ms`)
      await world.run(30_000)
    }
  })
})

t.test('FA24: two nodes whose link alone is broken leave no mark on each other', async t => {
  await scenario(t, { what: 'N=2', size: 2, seed: 65 }, async world => {
    await world.settled()
    const [a, b] = [world.machine(0).address, world.machine(1).address]
    for (let time = 0; time < 3; time++) {
      world.network.cut(a, b)
      world.network.cut(b, a)
      await world.run(180_000)
      t.strictSame(world.condemned(), [], 'both renew their Leases')
      world.network.healAll()
      await world.run(60_000)
      t.strictSame(world.condemned(), [])
    }
    world.crash(1)
    t.ok((await world.until(() => world.condemned().length > 0, 120_000)) !== undefined)
    world.network.cut(a, b)
    world.network.cut(b, a)
    world.repair(1)
    const cleared = await world.until(() => world.condemned().length === 0, 120_000)
    t.ok(cleared !== undefined, `it lives, and only the link is broken: cleared in ${cleared} ms`)
    world.network.healAll()
    await world.run(60_000)
  })
})

t.test('FA20: units that overlap are zones of their own, each of them judged', async t => {
  const UNIT = 'nodeunits.superedge.io'
  await scenario(t, { what: 'overlap', size: 6, seed: 66 }, async world => {
    world.cluster.put('configmap', 'edge-health-config', {
      data: { 'unit-internal-check': 'true', 'check-units': 'a,b' },
    })
    for (const index of world.indices) {
      const { name, address } = world.machine(index)
      const labels = { ...(index < 6 ? { a: UNIT } : {}), ...(index >= 3 ? { b: UNIT } : {}) }
      world.cluster.put('node', name, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { labels },
        spec: {},
        status: {
          addresses: [{ type: 'InternalIP', address }],
          conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
        },
      })
    }
    await world.settled()
    const zoneOf = (index: number) => world.machine(index).agent!.views.zone().zone
    t.match(zoneOf(0), { name: 'units:a', members: 3, rule: /3 that are in other units too/ })
    t.match(zoneOf(4), { name: 'units:a,b', members: 3 })
    t.match(world.machine(0).agent!.views.node('n1')!, { verdict: 'healthy' })
    world.crash(1)
    world.crash(5)
    await world.until(() => world.condemned().length === 2, 60_000)
    t.strictSame(world.condemned(), ['n1', 'n5'])
  })
})
