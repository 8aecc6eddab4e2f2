// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { scenario, timeCrash } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

/** As a zone of more than 25 nodes goes about it. */
const zone = { size: 5, flags: ['--zone-watch-up-to=0'] } as const

const membersSeenBy = (world: World, index: number): number =>
  world.machine(index).agent?.views.localView().nodes.length ?? 0

const readsOf = (world: World): string[] => {
  const reads: string[] = []
  world.cluster.onCall = ({ by, what }) => {
    if (/^get n(?!otes)/.test(what) && !by.startsWith('kubelet/')) reads.push(`${by} ${what}`)
    return undefined
  }
  return reads
}

t.test('a zone that is polled notices and writes a death as soon as another one', async t => {
  await scenario(t, { ...zone, what: 'death', seed: 3 }, async world => {
    await world.settled()
    const reads = readsOf(world)
    const [seenMs, writtenMs] = await timeCrash(world, 3)
    t.ok(seenMs <= 8_000, `seen after ${seenMs} ms`)
    t.ok(writtenMs <= 14_000, `written after ${writtenMs} ms`)
    await world.run(60_000)
    t.equal(world.writesSince(0).length, 1, 'one write')
    t.ok(reads.length <= 8, `the Node is not read by everybody at once: ${reads.join()}`)
    world.repair(3)
    const ms = await world.until(() => world.condemned().length === 0, 60_000)
    t.ok(ms !== undefined, `the mark is off after ${ms} ms`)
  })
})

t.test('a dead node whose Node is deleted leaves such a zone before the next poll', async t => {
  await scenario(t, { ...zone, what: 'deleted', seed: 4 }, async world => {
    await world.settled()
    world.crash(3)
    world.removeNode(3)
    const others = [0, 1, 2, 4]
    const ms = await world.until(
      () => others.every(index => membersSeenBy(world, index) === 4),
      20_000,
    )
    t.ok(ms !== undefined, `after ${ms} ms`)
    await world.run(30_000)
    t.strictSame(world.writesSince(0), [], 'nothing is written about it')
  })
})

t.test('marks that are left over from before are taken off by one agent', async t => {
  for (const flags of [[], zone.flags])
    await scenario(
      t,
      { ...zone, flags, what: `left over ${flags.join()}`, seed: 5 },
      async world => {
        const { metadata } = world.cluster.raw('node', 'n2')
        const annotations = { nodeunhealth: 'yes' }
        world.cluster.edit('node', 'n2', { metadata: { ...metadata, annotations } })
        const reads = readsOf(world)
        world.bootAll()
        const ms = await world.until(() => world.condemned().length === 0, 60_000)
        t.ok(ms !== undefined, `after ${ms} ms`)
        await world.run(30_000)
        t.equal(world.writesSince(0).length, 1)
        const looks = reads.filter(read => read.split(' ').at(0) !== read.split(' ').at(-1))
        t.ok(looks.length <= 8, `each Node is read by about one: ${looks.join()}`)
      },
    )
})
