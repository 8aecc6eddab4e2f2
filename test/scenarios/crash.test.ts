// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'

t.test(
  'a node that dies is seen by all, written once by one, and cleared once when it is back',
  async t => {
    for (const size of share(t, [5, 3, 10], 1, 'sizes')) {
      const what = `N=${size}`
      await scenario(t, { what, size, seed: size }, async world => {
        await world.settled()
        t.strictSame(world.writesSince(0), [], `${what}: a healthy zone writes nothing`)
        t.ok(world.allSee(), `${what}: and hides nobody`)

        const dead = size - 1
        const diedAt = world.clock.now()
        world.crash(dead)
        await world.run(14_000)
        t.ok(world.allSee(dead), `${what}: every local view shows it`)
        await world.run(20_000)
        t.equal(
          world.writesSince(diedAt).length,
          1,
          `${what}: one write: ${world.writesSince(diedAt).join()}`,
        )
        t.strictSame(world.condemned(), [`n${dead}`])

        const backAt = world.clock.now()
        world.repair(dead)
        await world.run(60_000)
        t.strictSame(world.condemned(), [])
        t.ok(world.allSee())
        t.equal(world.writesSince(backAt).length, 1, `${what}: one write clears it`)
      })
    }
  },
)

t.test('a zone of one judges itself for its own node, and writes nothing', async t => {
  await scenario(t, { what: 'N=1', size: 1 }, async world => {
    await world.settled()
    world.machine(0).kubelet = 'sick'
    await world.run(40_000)
    t.ok(world.allSee(0), 'its own local view says so')
    world.machine(0).kubelet = 'well'
    await world.run(40_000)
    t.ok(world.allSee())
    world.cutCloud(0)
    await world.run(60_000)
    t.ok(world.allSee(), 'without the cloud it goes on')
    t.strictSame(world.writesSince(0), [], 'FA2: its kubelet’s Lease says the rest')
  })
})

t.test('a zone of one goes on after a suspension, and after its clock was set', async t => {
  for (const how of ['suspended', 'set'] as const)
    await scenario(t, { what: how, size: 1, seed: 3 }, async world => {
      await world.settled()
      if (how === 'set') world.machine(0).wall.offsetMs += 6_000
      else {
        world.freeze(0)
        await world.run(20_000)
        world.thaw(0)
      }
      await world.run(30_000)
      const own = () => world.machine(0).agent?.views.status().nodes[0]
      t.match(own(), { class: 'healthy', verdict: 'healthy' })
      world.machine(0).kubelet = 'sick'
      await world.run(60_000)
      t.match(own(), { class: 'kubelet-sick' })
    })
})

t.test('a zone of two abstains without a witness, and says so', async t => {
  await scenario(t, { what: 'none', size: 2, flags: ['--witness=none'] }, async world => {
    await world.settled()
    world.crash(1)
    await world.run(120_000)
    t.ok(world.allSee(1), 'the local view shows it')
    t.strictSame(world.writesSince(0), [], 'nobody is condemned')
    const guards = world
      .machine(0)
      .agent?.views.node('n1')
      ?.guards.map(({ kind }) => kind)
    t.ok(guards?.includes('zone-of-two'), String(guards))
  })
})

t.test('a zone of two with the apiserver as witness', async t => {
  const flags = ['--witness=apiserver']
  await scenario(t, { what: 'death', size: 2, flags }, async world => {
    await world.settled()
    world.crash(1)
    const ms = await world.until(() => world.condemned().length > 0, 60_000)
    t.ok(ms !== undefined, `the Lease stopped too: condemned after ${ms} ms`)
    await world.run(20_000)
    t.equal(world.writesSince(0).length, 1)
    world.repair(1)
    await world.run(60_000)
    t.strictSame(world.condemned(), [])
    t.equal(world.writesSince(0).length, 2)
  })
  await scenario(t, { what: 'cut between', size: 2, flags }, async world => {
    await world.settled()
    world.partition([0], [1])
    await world.run(180_000)
    t.strictSame(world.downFrom(0), ['n1'])
    t.strictSame(world.downFrom(1), ['n0'])
    t.strictSame(world.writesSince(0), [], 'both Leases move: nobody is condemned')
    world.network.healAll()
    await world.run(20_000)
    t.ok(world.allSee())
  })
  await scenario(t, { what: 'no cloud', size: 2, flags }, async world => {
    await world.settled()
    world.cutCloud(0, 1)
    world.crash(1)
    await world.run(60_000)
    t.ok(world.allSee(1))
    t.strictSame(world.writesSince(0), [], 'the witness cannot be asked')
  })
})

t.test('a zone of two with a target as witness', async t => {
  const flags = ['--witness=target', '--witness-target=tcp://10.9.9.9:80']
  await scenario(t, { what: 'death', size: 2, flags }, async world => {
    await world.settled()
    world.crash(0)
    const ms = await world.until(() => world.condemned().length > 0, 40_000)
    t.ok(ms !== undefined, `condemned after ${ms} ms`)
    t.equal(world.writesSince(0).length, 1)
  })
  await scenario(t, { what: 'lonely', size: 2, flags }, async world => {
    await world.settled()
    world.network.partition([world.machine(0).address], [world.machine(1).address, '10.9.9.9'])
    await world.run(60_000)
    t.strictSame(
      world.condemned(),
      ['n0'],
      'who reaches the target decides, the lonely one does not',
    )
    t.equal(world.writesSince(0).length, 1)
  })
})

t.test('a node that freezes: its host takes connections, nothing answers', async t => {
  for (const size of share(t, [3, 7], 1, 'sizes')) {
    await scenario(t, { what: `N=${size}`, size, seed: 3 }, async world => {
      await world.settled()
      world.freeze(1)
      const seen = await world.until(() => world.allSee(1), 15_000)
      t.ok(seen !== undefined, `N=${size}: seen after ${seen} ms`)
      await world.run(20_000)
      t.strictSame(world.condemned(), ['n1'])
      world.thaw(1)
      const back = await world.until(() => world.allSee() && world.condemned().length === 0, 40_000)
      t.ok(back !== undefined, `N=${size}: all is well ${back} ms after it goes on`)
      t.equal(world.writesSince(0).length, 2, 'one write each way')
    })
  }
})

t.test('an agent that dies alone condemns nobody: its node lives', async t => {
  await scenario(t, { what: 'agent', size: 5 }, async world => {
    await world.settled()
    world.killAgent(2)
    await world.run(200_000)
    t.ok(world.allSee())
    t.strictSame(world.writesSince(0), [])
  })
})
