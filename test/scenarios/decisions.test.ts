// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { share } from '../../testkit/share.js'
import { diesMarked, scenario } from '../../testkit/zone/scenario.js'

t.test('the brake: nothing is condemned when most of the zone looks dead', async t => {
  const zones = [
    [7, 3],
    [5, 3],
    [10, 5],
  ] as const
  for (const [size, dead] of share(t, zones, 2, 'zones')) {
    const what = `${dead} of ${size}`
    await scenario(t, { what, size, seed: 20 }, async world => {
      await world.settled()
      const diedAt = world.clock.now()
      for (let index = 0; index < dead; index++) world.crash(index)
      await world.run(90_000)
      const gone = world.indices.slice(0, dead)
      t.ok(world.allSee(...gone), `${what}: every local view shows them`)
      t.strictSame(world.writesSince(diedAt), [], `${what}: nothing is written`)
      const zone = world.machine(size - 1).agent?.views.zone()
      const isMajority = size - dead > size / 2
      t.equal(zone?.brake.isOn, isMajority, 'the brake holds a majority; a minority has no voice')
      for (const index of gone) world.repair(index)
      t.ok((await world.until(() => world.allSee(), 30_000)) !== undefined)
      await world.run(20_000)
      t.strictSame(world.writesSince(diedAt), [])
    })
  }
})

t.test('three of ten dead are within the limit', async t => {
  await scenario(t, { what: '3 of 10', size: 10, seed: 21 }, async world => {
    await world.settled()
    const diedAt = world.clock.now()
    for (const index of [2, 5, 8]) world.crash(index)
    await world.run(40_000)
    t.strictSame(world.condemned(), ['n2', 'n5', 'n8'])
    t.equal(world.writesSince(diedAt).length, 3, world.writesSince(diedAt).join())
  })
})

t.test('marks that no agent remembers count for the brake too', async t => {
  await scenario(t, { what: 'restarted', size: 7, seed: 24, profile: 'fast' }, async world => {
    await world.settled(20_000)
    for (const index of [5, 6]) world.crash(index)
    t.ok((await world.until(() => world.condemned().length === 2, 20_000)) !== undefined)
    // They come back where three do not reach them, and one cannot look: nobody has a majority.
    world.machine(3).isUnable = true
    for (const a of [1, 2, 4])
      for (const b of [5, 6]) {
        world.network.cut(world.machine(a).address, world.machine(b).address)
        world.network.cut(world.machine(b).address, world.machine(a).address)
      }
    for (const index of [5, 6]) world.repair(index)
    for (const index of [0, 1, 2, 3, 4]) {
      await world.restartAgent(index, 500)
      await world.run(5_000)
    }
    const views = world.machine(0).agent!.views
    t.equal(views.node('n5')!.verdict, 'undecided', 'a rolling update: nobody remembers why')
    t.strictSame(world.condemned(), ['n5', 'n6'])
    t.match(views.zone().brake, { isOn: false, unhealthy: 2, limit: 2 })
    world.crash(4)
    await world.run(30_000)
    t.strictSame(world.condemned(), ['n5', 'n6'], 'two of seven may be marked')
    t.match(views.zone().brake, { isOn: true, unhealthy: 3, limit: 2 })
    t.match(views.node('n4')!.guards, [{ kind: 'brake' }])
    world.network.healAll()
    world.machine(3).isUnable = false
    const isNext = (): boolean => world.condemned().join() === 'n4'
    t.ok((await world.until(isNext, 60_000)) !== undefined, 'when they are well it is its turn')
  })
})

t.test('FA10: a verdict that the votes no longer ask for takes no mark off', async t => {
  const zone = { what: 'no majority says up', size: 4, seed: 29, profile: 'fast' } as const
  await scenario(t, zone, async world => {
    await world.settled(20_000)
    // n3 says goodbye: its record still counts as heard, its votes do not.
    const stopping = world.machine(3).agent!.stop()
    world.crash(1)
    await world.run(4_000)
    await stopping
    const view = world.machine(0).agent!.views.node('n1')!
    t.strictSame(
      [view.verdict, view.votes.down, view.votes.needed],
      ['healthy', 2, 3],
      'the old verdict stands, and nothing is decided',
    )
    // What a majority decided meanwhile, of whom these two have not heard.
    const { metadata } = world.cluster.raw('node', 'n1')
    const annotations = { nodeunhealth: 'yes' }
    world.cluster.edit('node', 'n1', { metadata: { ...metadata, annotations } })
    await world.run(3_000)
    t.strictSame(world.condemned(), ['n1'], 'the mark stays')
    world.killAgent(3)
    world.boot(3)
    world.repair(1)
    const ms = await world.until(() => world.condemned().length === 0, 30_000)
    t.ok(ms !== undefined, 'and goes when a majority says up')
  })
})

t.test('the writer dies between decision and write: another one writes, once', async t => {
  for (const size of share(t, [5, 7], 1, 'sizes')) {
    const zone = { size, seed: 22 }
    let writer = -1
    let writtenAt = 0
    await scenario(t, { ...zone, what: `N=${size}: who writes, and when` }, async world => {
      await world.settled()
      world.crash(3)
      await world.until(() => world.condemned().length > 0, 30_000)
      const [by] = world.writesSince(0)[0]!.split('>')
      writer = world.machines.findIndex(({ name }) => name === by)
      writtenAt = world.cluster.writes.find(({ kind }) => kind !== 'lease')!.at
    })
    // The same world again, to the moment when the writer has decided and its request is under way.
    await scenario(t, { ...zone, what: `N=${size}: it dies` }, async world => {
      await world.settled()
      world.crash(3)
      await world.run(Math.floor(writtenAt - world.clock.now()) - 20)
      t.strictSame(world.writesSince(0), [], 'not written yet')
      t.equal(world.machine(writer).agent?.views.node('n3')?.verdict, 'unhealthy', 'but decided')
      world.killAgent(writer)
      world.cutCloud(writer)
      const ms = await world.until(() => world.condemned().includes('n3'), 10_000)
      // Only silence makes another one write: the ages of a few exchanges tell it from a writer that is refused.
      t.ok(ms !== undefined && ms <= 7_000, `N=${size}: another one writes ${ms} ms later`)
      await world.run(20_000)
      const writes = world.writesSince(0)
      t.equal(writes.length, 1, writes.join())
      t.not(writes[0]!.split('>')[0], `n${writer}`)
    })
  }
})

t.test('a sick kubelet: its own word, and the votes of the others', async t => {
  for (const size of share(t, [3, 5], 1, 'sizes')) {
    await scenario(t, { what: `N=${size}`, size, seed: 23 }, async world => {
      await world.settled()
      world.machine(1).kubelet = 'sick'
      const ms = await world.until(() => world.condemned().length > 0, 60_000)
      t.ok(ms !== undefined, `condemned after ${ms} ms`)
      const reason = world.cluster
        .node('n1')
        .conditions.find(({ type }) => type === 'PeerHealth')?.reason
      t.equal(reason, 'KubeletSick')
      t.equal(world.machine(0).agent?.views.node('n1')?.class, 'kubelet-sick')
      t.ok(world.allSee(1), 'its own local view agrees')
      world.machine(1).kubelet = 'well'
      await world.run(60_000)
      t.strictSame(world.condemned(), [])
      t.equal(world.writesSince(0).length, 2, world.writesSince(0).join())
    })
  }
})

t.test('FA18: why a kubelet is unknown stands in the status of its own node', async t => {
  await scenario(t, { what: 'no healthz port', size: 3, seed: 27 }, async world => {
    world.machine(1).kubelet = 'portless'
    await world.settled()
    const views = world.indices.map(index => world.machine(index).agent!.views.node('n1')!)
    t.strictSame(
      views.map(({ kubelet, verdict }) => [kubelet, verdict]),
      world.indices.map(() => ['unknown', 'healthy']),
    )
    t.strictSame(
      views.map(({ kubeletReason }) => kubeletReason),
      [null, 'connection refused, and it never answered (healthzPort: 0?)', null],
      'others know that it says nothing, not why',
    )
    t.equal(world.machine(0).agent!.views.node('n0')!.kubeletReason, null, 'one that is well')
  })
})

t.test('the roster changes while a node is down', async t => {
  await scenario(t, { what: 'added', size: 4, seed: 24 }, async world => {
    await world.settled()
    await diesMarked(t, world, 2, 30_000)
    const added = world.addMachine()
    world.boot(added)
    await world.run(60_000)
    t.ok(world.allSee(2), 'the new one is up for all and knows who is down')
    t.equal(world.machine(0).agent?.views.zone().zone.members, 5)
    t.strictSame(world.condemned(), ['n2'])
    t.equal(world.writesSince(0).length, 1, 'nothing was written again')
  })
  await scenario(t, { what: 'removed', size: 5, seed: 25 }, async world => {
    await world.settled()
    world.crash(2)
    await world.run(30_000)
    world.removeNode(2)
    await world.run(30_000)
    t.ok(world.allSee(), 'who is no node any more is in no local view')
    t.equal(world.machine(0).agent?.views.zone().zone.members, 4)
    world.crash(4)
    await world.run(30_000)
    t.strictSame(world.condemned(), ['n4'], 'the smaller zone decides by its own majority')
  })
})

t.test('a node that leaves the zone takes none of our marks along', async t => {
  await scenario(t, { what: 'zone', size: 5, seed: 26, zone: 'a' }, async world => {
    await world.settled()
    await diesMarked(t, world, 2, 30_000)
    world.move(2, 'b')
    await world.run(60_000)
    t.equal(world.cluster.node('n2').annotations['nodeunhealth'], undefined, 'no mark goes along')
    t.equal(world.machine(0).agent?.views.zone().zone.members, 4)
  })
})

t.test('keys are rotated over running agents, out of step, without a lost vote', async t => {
  const [old, next] = ['a key of the test world', 'another key of the world']
  await scenario(t, { what: 'rotation', size: 5, seed: 27 }, async world => {
    await world.settled()
    const steps = [
      { primary: old, secondary: next },
      { primary: next, secondary: old },
      { primary: next },
    ]
    for (const data of steps) {
      world.cutCloud(1, 3)
      world.cluster.put('secret', 'edge-health-keys', { data })
      await world.run(12_000)
      t.ok(world.allSee(), 'while some have it and some do not')
      world.healCloud(1, 3)
      await world.run(20_000)
      t.ok(world.allSee(), 'and when all have it')
    }
    for (const { agent } of world.machines) {
      const { refused } = agent!.views.counts().exchange
      t.equal(refused['unknown-key'] ?? 0, 0, JSON.stringify(refused))
    }
    t.strictSame(world.writesSince(0), [])
    world.crash(0)
    t.ok((await world.until(() => world.allSee(0), 12_000)) !== undefined)
  })
})

t.test(
  'a ConfigMap that is broken at run time: the last good one stays, and it is reported',
  async t => {
    await scenario(t, { what: 'broken config', size: 4, seed: 28 }, async world => {
      world.cluster.put('configmap', 'edge-health-config', {
        data: { 'unit-internal-check': 'false' },
      })
      await world.settled()
      t.equal(world.machine(0).agent?.views.zone().zone.members, 4)
      world.cluster.put('configmap', 'edge-health-config', {
        data: { 'unit-internal-check': 'perhaps', 'check-units': ',,!' },
      })
      await world.run(30_000)
      t.equal(world.machine(0).agent?.views.zone().zone.members, 4)
      t.ok(world.allSee())
      t.ok(world.machine(0).agent?.views.zone().roster.trouble, 'status says so')
      t.ok(world.cluster.events.some(({ reason }) => reason === 'ConfigRefused'))
      world.cluster.put('secret', 'edge-health-keys', { data: { primary: 'short' } })
      await world.run(30_000)
      t.ok(world.machine(0).agent?.views.zone().keys.trouble)
      world.crash(3)
      t.ok((await world.until(() => world.allSee(3), 12_000)) !== undefined, 'and it goes on')
    })
  },
)
