// SPDX-License-Identifier: Apache-2.0
// An agent that begins anew does not know yet how its own node is: what it told before stands until then.
import t from 'tap'
import { scenario } from '../../testkit/zone/scenario.js'
import type { Machine } from '../../testkit/zone/machine.js'
import type { World } from '../../testkit/zone/world.js'

const size = 4
const AWAY_MS = 3_000

interface Beginning {
  readonly how: string
  readonly act: (world: World) => Promise<void>
}

/** Ways in which the agent of n1 begins anew. */
const beginnings: readonly Beginning[] = [
  {
    how: 'a restart',
    act: async world => {
      world.killAgent(1)
      await world.run(AWAY_MS)
      world.boot(1)
    },
  },
  {
    // The second time before the first round about all others has ended.
    how: 'two restarts',
    act: async world => {
      for (const awayMs of [500, 700]) {
        world.killAgent(1)
        await world.run(awayMs)
        world.boot(1)
      }
    },
  },
  {
    how: 'a clock that is set',
    act: async world => void (world.machine(1).wall.offsetMs += 6_000),
  },
  {
    how: 'three clocks that are set',
    act: async world => {
      for (let again = 0; again < 3; again++) {
        world.machine(1).wall.offsetMs += 6_000
        await world.run(3_000)
      }
    },
  },
  {
    how: 'a restart while the disk takes nothing',
    act: async world => {
      world.machine(1).diskTroubles.set('own-node.json', 'the disk takes no more')
      world.killAgent(1)
      await world.run(AWAY_MS)
      world.boot(1)
    },
  },
]

/** With `fast` a node that stands still for so long is taken for dead. */
const suspension: Beginning = {
  how: 'a suspension',
  act: async world => {
    world.freeze(1)
    await world.run(8_000)
    world.thaw(1)
  },
}

/** The link drops packets: a check fails by its timeout, as in most cuts. Also over restarts. */
const cutSilently = (world: World): void => {
  world.cluster.onCall = ({ by }) =>
    by === 'n1' || by === 'kubelet/n1' ? new Promise<void>(() => undefined) : undefined
}

const troubles: readonly {
  readonly what: string
  readonly begin: (world: World) => void
  readonly isMarked: (world: World) => boolean
}[] = [
  {
    what: 'a cut link',
    begin: cutSilently,
    isMarked: ({ cluster }) => cluster.node('n1').labels['edge-health/vouched'] === 'true',
  },
  ...(['sick', 'hanging'] as const).map(how => ({
    what: `a kubelet that is ${how}`,
    begin: (world: World) => void (world.machine(1).kubelet = how),
    isMarked: (world: World) =>
      world.condemned().includes('n1') && world.downFrom(0).includes('n1'),
  })),
]

/** The longest time between two renewals of the node's Lease. */
const longestGapMs = (world: World, since: number): number => {
  const renewals = world.cluster.writes.filter(
    ({ kind, node, at }) => kind === 'lease' && node === 'n1' && at >= since,
  )
  return Math.max(...renewals.slice(1).map(({ at }, place) => at - renewals[place]!.at))
}

/** Longer than it takes until a link or a kubelet that fails all along is known to do so. */
const CHECKED_MS = { default: 45_000, fast: 10_000 }

for (const profile of ['default', 'fast'] as const)
  for (const { what, begin, isMarked } of troubles)
    t.test(
      `${profile}: a node with ${what} keeps its marks while its agent begins anew`,
      async t => {
        const all = profile === 'fast' ? beginnings : [...beginnings, suspension]
        for (const { how, act } of all)
          await scenario(t, { what: how, size, profile, seed: 4 }, async world => {
            await world.settled(15_000)
            begin(world)
            t.ok(await world.until(() => isMarked(world), 90_000), 'it is marked')
            await world.run(15_000)
            const at = world.clock.now()
            await act(world)
            const end = world.clock.now() + CHECKED_MS[profile]
            while (world.clock.now() < end && isMarked(world)) await world.run(500)
            t.ok(isMarked(world), `${how}: it stays marked`)
            t.strictSame(world.writesSince(at), [], `${how}: nothing is written about it`)
            const events = world.cluster.events.filter(event => event.at >= at)
            t.strictSame(events, [], `${how}: nothing is told`)
            if (what === 'a cut link')
              t.ok(longestGapMs(world, at - 20_000) < 16_000, 'its Lease is renewed all along')
          })
      },
    )

t.test('what ended while the agent was away is told at once', async t => {
  await scenario(t, { what: 'well again', size, seed: 3 }, async world => {
    await world.settled(15_000)
    world.cutCloud(1)
    world.machine(1).kubelet = 'sick'
    t.ok(await world.until(() => world.condemned().includes('n1'), 90_000), 'it is marked')
    const own = () => world.machine(1).agent?.views.node('n1')
    t.match(own(), { kubelet: 'bad', class: 'kubelet-sick' })
    t.equal(world.machine(1).agent?.views.zone().cloudLink.state, 'cut')
    world.killAgent(1)
    await world.run(500)
    world.healCloud(1)
    world.machine(1).kubelet = 'well'
    world.boot(1)
    await world.run(500)
    t.equal(own()?.kubelet, 'well')
    t.equal(world.machine(1).agent?.views.zone().cloudLink.state, 'up')
  })
})

t.test('while the link of the whole zone is cut, one agent begins anew', async t => {
  await scenario(t, { what: 'zone cut', size, seed: 3 }, async world => {
    await world.settled(15_000)
    world.cutCloud(...world.indices)
    await world.run(45_000)
    const classes = (): string =>
      world
        .machine(0)
        .agent!.views.status()
        .nodes.map(node => node.class)
        .join()
    const all = world.indices.map(() => 'zone-link-cut').join()
    t.equal(classes(), all)
    world.killAgent(1)
    await world.run(500)
    world.boot(1)
    for (let step = 0; step < 60 && classes() === all; step++) await world.run(500)
    t.equal(classes(), all, 'nobody says that somebody has a link')
  })
})

t.test('a cut node that begins anew holds up no mark as the writer that it is not', async t => {
  for (const victim of [0, 2, 3])
    await scenario(t, { what: `n${victim}`, size, seed: 3 }, async world => {
      await world.settled(15_000)
      cutSilently(world)
      await world.run(45_000)
      world.crash(victim)
      await world.run(500)
      world.killAgent(1)
      world.boot(1)
      const ms = await world.until(() => world.condemned().includes(`n${victim}`), 60_000)
      t.ok(ms !== undefined && ms <= 13_500, `n${victim} is marked after another ${ms} ms`)
    })
})

t.test('a kubelet that was bad long ago condemns nobody at the next start', async t => {
  const rows: readonly (readonly [what: string, set: (machine: Machine) => void])[] = [
    ['its health port is closed for good', machine => void (machine.kubelet = 'portless')],
    ['its agent has no descriptor', machine => void (machine.isUnable = true)],
  ]
  for (const profile of ['default', 'fast'] as const)
    for (const [what, set] of rows)
      await scenario(t, { what, size, profile, seed: 4 }, async world => {
        await world.settled(15_000)
        world.machine(1).kubelet = 'sick'
        t.ok(await world.until(() => world.condemned().includes('n1'), 90_000), 'it is marked')
        world.killAgent(1)
        world.machine(1).kubelet = 'well'
        const isCleared = (): boolean => !world.condemned().includes('n1')
        t.ok(await world.until(isCleared, 300_000), 'the others saw it well again')
        await world.run(60_000)
        set(world.machine(1))
        const at = world.clock.now()
        world.boot(1)
        await world.run(5 * CHECKED_MS[profile])
        t.strictSame(world.writesSince(at), [], `${profile}, ${what}: nothing is written`)
      })
})

t.test('restarts do not keep a cut node with a sick kubelet vouched for', async t => {
  const rows = [
    ['default', [1_500, 7_000, 9_000]],
    ['fast', [700, 1_500]],
  ] as const
  for (const [profile, everyMs] of rows)
    for (const ms of everyMs)
      await scenario(t, { what: `each ${ms} ms`, size, profile, seed: 4 }, async world => {
        await world.settled(15_000)
        cutSilently(world)
        const isVouched = troubles[0]!.isMarked
        t.ok(await world.until(() => isVouched(world), 90_000), 'it is vouched for')
        world.machine(1).kubelet = 'sick'
        const restart = async (forMs: number): Promise<void> => {
          for (let left = forMs; left > 0; left -= ms) {
            world.killAgent(1)
            world.boot(1)
            await world.run(ms)
          }
        }
        await restart(2 * CHECKED_MS[profile])
        const at = world.clock.now()
        await restart(2 * CHECKED_MS[profile])
        const renewals = world.cluster.writes.filter(
          ({ kind, node, at: writtenAt }) => kind === 'lease' && node === 'n1' && writtenAt >= at,
        )
        t.strictSame(renewals, [], `${profile}: after a while nobody renews its Lease`)
      })
})
