// SPDX-License-Identifier: Apache-2.0
// What is noticed, and what it costs, when trouble is over: agents of a quiet zone look seldom.
import t from 'tap'
import { KubeStatusError } from '../../core/errors.js'
import { UNHEALTHY_ANNOTATION } from '../../core/marks.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const statusAt = (world: World, index: number) => world.machine(index).agent!.views.status()

/** How often each agent looked at what there is to write. */
const reviews = (world: World): number[] =>
  world.indices.map(
    index => statusAt(world, index).stages.find(({ name }) => name === 'write')?.rounds ?? 0,
  )

t.test(
  'in a large zone nobody goes on looking at a Node that was marked and is clear again',
  async t => {
    const zone = { what: 'N=14', size: 14, seed: 3, flags: ['--zone-watch-up-to=0'] }
    await scenario(t, zone, async world => {
      await world.settled(90_000)
      world.crash(13)
      await world.run(60_000)
      t.strictSame(world.condemned(), ['n13'])
      world.repair(13)
      await world.run(60_000)
      t.strictSame(world.condemned(), [])
      const before = reviews(world)
      await world.run(120_000)
      const soon = reviews(world).map((count, index) => count - before[index]!)
      const most = soon.filter(count => count > 60)
      t.ok(most.length <= 3, `who stands by looks in each second: ${most.length} of 14`)
      await world.run(180_000)
      const later = reviews(world)
      await world.run(120_000)
      for (const [index, count] of reviews(world).entries())
        t.ok(
          count - later[index]! <= 8,
          `n${index} looked ${count - later[index]!} times in two minutes`,
        )
      const waiting = world.indices.flatMap(index =>
        statusAt(world, index).stages.filter(({ detail }) => detail.includes('to be written')),
      )
      t.strictSame(waiting, [], 'nobody says that anything is to be written')
    })
  },
)

t.test(
  'a mark goes soon, also where those who were to read the Node were refused for long, and died',
  async t => {
    const zone = { what: 'N=14', size: 14, seed: 3, flags: ['--zone-watch-up-to=0'] }
    await scenario(t, zone, async world => {
      await world.settled(90_000)
      world.crash(13)
      await world.run(60_000)
      const isMarked = (): boolean =>
        world.cluster.node('n13').annotations[UNHEALTHY_ANNOTATION] !== undefined
      t.ok(isMarked())
      const asked = new Set<string>()
      let isRefusing = true
      world.cluster.onCall = ({ by, what }) => {
        if (what !== 'get n13' || by === 'n13' || by.startsWith('kubelet/')) return undefined
        asked.add(by)
        const refusal = { status: 500, reason: 'InternalError', message: '' }
        return isRefusing ? new KubeStatusError(what, refusal) : undefined
      }
      world.repair(13)
      await world.run(400_000)
      asked.clear()
      await world.run(40_000)
      isRefusing = false
      const lost = [...asked]
      t.ok(lost.length > 0 && lost.length < 5, `still asking: ${lost.join()}`)
      for (const name of lost)
        world.crash(world.machines.findIndex(machine => machine.name === name))
      const ms = await world.until(() => !isMarked(), 150_000)
      t.ok(ms !== undefined, `its mark is gone after ${ms} ms`)
    })
  },
)

t.test('a member whose record was too old counts as soon as it is heard again', async t => {
  for (const offMs of [0, 13_000, 27_000])
    await scenario(t, { what: `${offMs} ms`, size: 5, seed: 5 }, async world => {
      // The kubelet answers all the while: probes are not cut, the exchange is.
      let isBlocked = false
      const { network } = world
      const transport = network.transport.bind(network)
      const without = world.machine(4).address
      network.transport = (from, ...rest) => {
        const real = transport(from, ...rest)
        const send: typeof real.send = (peer, ...request) =>
          isBlocked && (peer.address === without || from === without)
            ? Promise.reject(new Error('blocked'))
            : real.send(peer, ...request)
        return { ...real, send }
      }
      await world.settled(100_000)
      isBlocked = true
      const upVotes = (): number =>
        statusAt(world, 0).nodes.find(({ name }) => name === 'n1')?.votes.up ?? 0
      await world.run(150_000 + offMs)
      t.equal(upVotes(), 4, 'its vote is too old')
      isBlocked = false
      const ageOf = (): number =>
        statusAt(world, 0).nodes.find(({ name }) => name === 'n4')?.recordAgeSeconds ?? Infinity
      t.ok((await world.until(() => ageOf() < 10, 60_000)) !== undefined, 'it is heard again')
      const ms = await world.until(() => upVotes() === 5, 60_000)
      t.ok(ms !== undefined && ms <= 1_000, `it counts after ${ms} ms`)
    })
})

t.test(
  'who still lists a member that left does not mark it, while others take its marks off',
  async t => {
    const what = { what: 'N=6', size: 6, seed: 1, zone: 'a', flags: ['--zone-watch-up-to=4'] }
    await scenario(t, what, async world => {
      await world.settled(100_000)
      world.cutCloud(1)
      await world.run(80_000)
      world.leave(1)
      const leftAt = world.clock.now()
      await world.run(10_000)
      for (const index of [0, 2, 3, 4, 5]) {
        await world.restartAgent(index, 3_000)
        await world.run(85_000)
      }
      const writes = world.cluster.writes.filter(
        ({ at, node, kind, by }) =>
          at >= leftAt && node === 'n1' && kind === 'spec' && !by.startsWith('kubelet'),
      )
      t.equal(writes.length, 1, 'its taint goes once')
      t.strictSame(
        writes.flatMap(({ tainted }) => tainted),
        [],
        'and does not come again',
      )
    })
  },
)

t.test(
  'marks of a member that left go, also where the first who may take them off is held up',
  async t => {
    const what = { what: 'N=3', size: 3, seed: 35, zone: 'a', profile: 'fast' } as const
    await scenario(t, what, async world => {
      await world.settled()
      world.crash(2)
      await world.run(40_000)
      const isMarked = (): boolean =>
        world.cluster.node('n2').annotations[UNHEALTHY_ANNOTATION] !== undefined
      t.ok(isMarked())
      let first: string | undefined
      let letGo = (): void => undefined
      world.cluster.onCall = ({ by, what: call }) => {
        if (call !== 'get n2' || first !== undefined) return undefined
        first = by
        return new Promise<undefined>(resolve => {
          letGo = () => resolve(undefined)
        })
      }
      world.leave(2)
      await world.until(() => first !== undefined, 12_000)
      world.cutCloud(0)
      world.cutCloud(1)
      const writer = world.indices.find(index => world.machine(index).name === first)!
      const link = (): string => world.machine(writer).agent!.views.zone().cloudLink.state
      t.ok((await world.until(() => link() === 'cut', 60_000)) !== undefined)
      world.healCloud(writer)
      letGo()
      const ms = await world.until(() => !isMarked(), 60_000)
      t.ok(ms !== undefined, `its marks are gone after ${ms} ms`)
    })
  },
)
