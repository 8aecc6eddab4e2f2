// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { certificateFor } from '../../testkit/certificates.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const CA = '/etc/kubelet-ca.pem'
const { cert: PEM } = await certificateFor('10.0.0.7')

/** Each plugin alone makes a node up; so where one cannot run, the other cannot make it down. */
const flags = ['--ping-plugin=weight=1', `--kubeletauth-plugin=weight=1,ca=${CA}`]

const giveCa = (world: World): void => {
  for (const machine of world.machines) machine.files.set(CA, PEM)
}

t.test('FA3: a rolling update that loses the CA file clears nobody, and says so', async t => {
  await scenario(t, { what: 'missing CA', size: 5, seed: 31, flags }, async world => {
    giveCa(world)
    await world.settled()
    world.crash(4)
    t.ok((await world.until(() => world.condemned().length > 0, 30_000)) !== undefined)
    for (const index of [0, 1, 2, 3]) {
      world.machine(index).files.clear()
      await world.restartAgent(index, 500)
      await world.run(30_000)
    }
    const since = world.clock.now()
    await world.run(120_000)
    t.strictSame(world.condemned(), ['n4'], 'nobody looked, so nothing is taken back')
    t.strictSame(world.writesSince(since), [])
    for (const index of [0, 1, 2, 3]) {
      const views = world.machine(index).agent!.views
      const node = views.node('n4')!
      t.not(node.verdict, 'healthy', `n${index} does not call it healthy`)
      t.match(node.probe, { vote: 'not-looked', reason: /no such file/ })
      t.match(node.votes, { up: 0, down: 0, notLooked: 4 })
      t.match(node.voters[0], { says: 'not-looked', counts: false })
      t.match(views.readiness(), { isReady: false, reason: /kubeletauth cannot run: .*no such/ })
      t.match(views.zone().stages[1], { name: 'check', state: 'failing' })
    }
    world.crash(3)
    await world.run(120_000)
    t.not(world.machine(0).agent!.views.node('n3')!.probe!.vote, 'up', 'the old vote is no vote')
    t.match(world.machine(0).agent!.views.node('n3')!.votes, { up: 0, notLooked: 3 })

    giveCa(world)
    await world.run(60_000)
    t.match(world.machine(0).agent!.views.readiness(), { isReady: true })
    t.strictSame(world.condemned(), ['n3', 'n4'], 'and then both are seen')
  })
})

t.test('FA3: an agent that cannot look does not keep the others from deciding', async t => {
  await scenario(t, { what: 'one blind of five', size: 5, seed: 32, flags }, async world => {
    giveCa(world)
    world.machine(0).files.clear()
    await world.settled()
    t.ok(world.allSee())
    t.match(world.machine(0).agent!.views.readiness(), { isReady: false })
    world.crash(4)
    t.ok((await world.until(() => world.allSee(4), 60_000)) !== undefined, 'it follows the others')
    t.ok((await world.until(() => world.condemned().length > 0, 20_000)) !== undefined)
    world.repair(4)
    t.ok((await world.until(() => world.condemned().length === 0, 60_000)) !== undefined)
  })
})

t.test('FA3: what a dead node last said of itself is no look at it', async t => {
  await scenario(t, { what: 'no descriptor', size: 5, seed: 33, profile: 'fast' }, async world => {
    await world.settled()
    for (const index of [0, 2, 3]) world.machine(index).isUnable = true
    world.crash(1)
    // Its last record is young when they begin anew, and comes to them by way of n4.
    for (const index of [0, 2, 3]) await world.restartAgent(index, 0)
    for (let ms = 0; ms < 60_000; ms += 500) {
      await world.run(500)
      for (const index of [0, 2, 3])
        t.not(world.machine(index).agent!.views.node('n1')?.probe?.vote, 'up', `n${index}`)
    }
    const node = world.machine(0).agent!.views.node('n1')!
    t.match(node.probe, {
      vote: 'not-looked',
      reason: /kubeletauth: unknown \(too many open files/,
    })
    for (const index of [0, 2, 3]) world.machine(index).isUnable = false
    t.ok((await world.until(() => world.condemned().length > 0, 20_000)) !== undefined)
    t.strictSame(world.condemned(), ['n1'])
  })
})
