// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KubeStatusError } from '../../core/errors.js'
import { share } from '../../testkit/share.js'
import { diesMarked, scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const CUT = 'edge-health/cloud-link-cut'

const isTainted = (world: World, name: string): boolean =>
  world.cluster.node(name).taints.some(({ key }) => key === CUT)

/** A zone of six by label: n4 is dead and marked, n3 vouched for and tainted. */
const troubled = async (world: World): Promise<void> => {
  await world.settled()
  world.crash(4)
  world.cutCloud(3)
  await world.run(60_000)
}

/** Let time pass; tells whether the marks of n4 and n3 stood all the time. */
const marksStand = async (world: World, ms: number): Promise<boolean> => {
  let stood = true
  for (let passed = 0; passed < ms; passed += 500) {
    await world.run(500)
    stood &&= world.condemned().includes('n4') && isTainted(world, 'n3')
  }
  return stood
}

const writesBy = (world: World, name: string, since: number): string[] =>
  world.writesSince(since).filter(write => write.startsWith(`${name}>`))

const renewalsBy = (world: World, name: string, since: number): number =>
  world.cluster.writes.filter(({ by, at, kind }) => by === name && at >= since && kind === 'lease')
    .length

t.test('FA2: who leaves a zone takes nobody’s marks off and writes about nobody', async t => {
  const leave: Record<string, (world: World) => Promise<void>> = {
    'its label is gone': async world => {
      world.leave(1)
    },
    'it is in another zone': async world => {
      world.move(1, 'b')
    },
    'its Node is deleted and registers again without the label': async world => {
      const { name, address } = world.machine(1)
      world.removeNode(1)
      await world.run(20_000)
      world.cluster.put('node', name, {
        ...{ apiVersion: 'v1', kind: 'Node', spec: {} },
        status: { addresses: [{ type: 'InternalIP', address }] },
      })
    },
  }
  for (const [what, act] of Object.entries(leave))
    for (const seed of share(t, [31, 32, 33], 1, 'seeds'))
      await scenario(t, { what, size: 6, seed, zone: 'a' }, async world => {
        await troubled(world)
        t.ok(await marksStand(world, 1_000), `${what}: n4 is marked, n3 is vouched for`)
        const leftAt = world.clock.now()
        const leaving = act(world)
        t.ok(await marksStand(world, 60_000), `${what}: the marks stand all the time`)
        await leaving
        t.strictSame(writesBy(world, 'n1', leftAt), [], `${what}: the leaver writes nothing`)
        t.equal(renewalsBy(world, 'n1', leftAt + 100), 0, `${what}: and renews no Lease`)
        t.ok(world.machine(0).agent?.views.zone().zone.members === 5, 'the zone goes on')
      })
})

t.test('FA2: a node that moves becomes a full member where it comes to', async t => {
  await scenario(t, { what: 'moves', size: 7, seed: 34, zone: 'a' }, async world => {
    for (const index of [4, 5, 6]) world.move(index, 'b')
    await world.settled()
    world.move(1, 'b')
    await world.run(30_000)
    world.crash(5)
    await world.run(60_000)
    t.equal(world.cluster.node('n5').annotations['nodeunhealth'], 'yes')
    t.strictSame(world.downFrom(1), ['n5'], 'it judges there')
    t.strictSame(world.downFrom(0), [], 'and is missed by nobody where it was')
  })
})

t.test('FA2: what the leaver carried is taken off by those who stay, if they are most', async t => {
  await scenario(t, { what: 'two stay of three', size: 3, seed: 35, zone: 'a' }, async world => {
    await world.settled()
    await diesMarked(t, world, 2)
    world.leave(2)
    await world.run(60_000)
    t.equal(world.cluster.node('n2').annotations['nodeunhealth'], undefined)
  })
  await scenario(t, { what: 'one stays of two', size: 2, seed: 36, zone: 'a' }, async world => {
    await world.settled()
    await diesMarked(t, world, 1, 120_000)
    const leftAt = world.clock.now()
    world.leave(1)
    await world.run(120_000)
    t.strictSame(world.writesSince(leftAt), [], 'one alone writes about nobody')
  })
})

t.test('the 404 of a proxy without a backend is no reason to leave marks on who left', async t => {
  await scenario(t, { what: 'misled', size: 3, seed: 37, zone: 'a' }, async world => {
    await world.settled()
    await diesMarked(t, world, 2)
    let misled = 0
    const page = { status: 404, reason: 'Not Found', message: 'default backend - 404' }
    world.cluster.onCall = ({ what }) => {
      if (!what.includes('n2')) return undefined
      misled++
      return new KubeStatusError(what, page)
    }
    world.leave(2)
    await world.run(120_000)
    t.ok(misled > 0, 'it was tried, and the proxy answered')
    world.cluster.onCall = undefined
    await world.run(180_000)
    t.equal(world.cluster.node('n2').annotations['nodeunhealth'], undefined)
  })
})

t.test('FA2: a configuration that leaves everybody alone writes nothing', async t => {
  await scenario(t, { what: 'zones without labels', size: 5, seed: 37 }, async world => {
    await world.settled()
    await diesMarked(t, world, 4, 30_000)
    const brokenAt = world.clock.now()
    const data = { TaintZoneAdmission: 'true' }
    world.cluster.put('configmap', 'edge-health-zone-config', { data })
    await world.run(60_000)
    t.equal(world.machine(0).agent?.views.zone().zone.members, 1)
    t.strictSame(world.writesSince(brokenAt), [])
    t.strictSame(world.condemned(), ['n4'])
  })
})

t.test('FA2: a list that lacks a member takes no marks off it', async t => {
  await scenario(t, { what: 'partial list', size: 5, seed: 38, zone: 'a' }, async world => {
    await world.settled()
    await diesMarked(t, world, 4, 30_000)
    const brokenAt = world.clock.now()
    world.cluster.relistWithout('n4')
    await world.run(60_000)
    t.equal(world.machine(0).agent?.views.zone().zone.members, 4)
    t.strictSame(world.writesSince(brokenAt), [], 'its own labels say that it is a member')
    t.strictSame(world.condemned(), ['n4'])
  })
})

t.test('FA9: a change of the roster is sent like any other change of the local view', async t => {
  await scenario(t, { what: 'n4 leaves and comes', size: 5, seed: 39, zone: 'a' }, async world => {
    await world.settled()
    const { views } = world.machine(0).agent!
    const changes: string[] = []
    const names = (): string =>
      views
        .localView()
        .nodes.map(({ name }) => name)
        .join()
    const end = views.subscribe(what => changes.push(`${what} ${names()}`))
    world.leave(4)
    await world.run(1_000)
    world.join(4)
    await world.run(1_000)
    end()
    const local = changes.filter(line => line.startsWith('local'))
    t.strictSame(local, ['local n0,n1,n2,n3', 'local n0,n1,n2,n3,n4'])
  })
})

t.test('FA20: who joins another unit as well has left the zone at once', async t => {
  const zone = { what: 'two units', size: 4, seed: 34, units: ['unit-a', 'unit-b'] }
  await scenario(t, zone, async world => {
    const members = (): (number | undefined)[] =>
      world.machines.map(({ agent }) => agent?.views.zone().zone.members)
    await world.settled()
    t.strictSame(members(), [4, 4, 4, 4])
    world.overlap(2)
    await world.run(2_000)
    t.strictSame(members(), [3, 3, 1, 3], 'a zone of its own')
    const since = world.clock.now()
    world.crash(2)
    await world.run(60_000)
    t.strictSame(world.writesSince(since), [], 'and nobody marks it')
    world.join(2)
    await world.run(30_000)
    t.strictSame(world.condemned(), ['n2'], 'until it is back in one unit alone')
  })
})
