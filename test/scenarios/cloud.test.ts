// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KubeStatusError } from '../../core/errors.js'
import { ControlPlane } from './control-plane.js'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const size = 5
const unwell = (request: string): KubeStatusError =>
  new KubeStatusError(request, { status: 500, reason: '', message: 'not alive' })
const CUT = 'edge-health/cloud-link-cut'
const UNREACHABLE = 'node.kubernetes.io/unreachable'

const taintsOf = (world: World, name: string): string[] =>
  world.cluster.node(name).taints.map(({ key, effect }) => `${key}:${effect}`)

const conditionOf = (world: World, name: string, type: string): string | undefined =>
  world.cluster.node(name).conditions.find(condition => condition.type === type)?.status

const reasonOf = (world: World, name: string): string | undefined =>
  world.cluster.node(name).conditions.find(({ type }) => type === 'PeerHealth')?.reason

const labelOf = (world: World, name: string): string | undefined =>
  world.cluster.node(name).labels['edge-health/vouched']

const renewals = (world: World, node: string, since: number): string[] =>
  world.cluster.writes
    .filter(write => write.kind === 'lease' && write.node === node && write.at >= since)
    .map(({ by }) => by)

/** When agents wrote the node's status. */
const statusWrites = (world: World, name: string, since: number): number[] =>
  world.cluster.writes
    .filter(({ kind, node, at }) => kind === 'status' && node === name && at >= since)
    .map(({ at }) => at)

const eventsAbout = (world: World, node: string): string[] =>
  world.cluster.events.filter(event => event.node === node).map(({ reason }) => reason)

/** A zone with a control plane whose first node has lost its cloud link two minutes ago. */
const cutOne = async (
  t: Parameters<typeof scenario>[0],
  zone: { what: string; flags?: readonly string[] },
  play: (world: World, control: ControlPlane, cutAt: number) => Promise<void>,
): Promise<void> =>
  scenario(t, { ...zone, size, seed: 9 }, async world => {
    const control = new ControlPlane(
      world.clock,
      world.cluster,
      world.machines.map(({ name }) => name),
    )
    await world.settled()
    const cutAt = world.clock.now()
    world.cutCloud(0)
    await world.run(120_000)
    await play(world, control, cutAt)
    control.stop()
  })

t.test('a node whose cloud link is cut is vouched for, until the link is back', async t => {
  await cutOne(t, { what: 'link back' }, async (world, control, cutAt) => {
    t.equal(conditionOf(world, 'n0', 'Ready'), 'True', 'past the grace time it is still Ready')
    t.strictSame(taintsOf(world, 'n0'), [`${CUT}:NoSchedule`], 'new pods are kept away')
    t.equal(reasonOf(world, 'n0'), 'CloudLinkCut')
    t.equal(labelOf(world, 'n0'), 'true')
    t.equal(control.evictions.get('n0'), undefined, 'nothing was ever evicted')
    const by = renewals(world, 'n0', cutAt + 40_000)
    t.ok(by.length >= 7 && !by.includes('kubelet/n0'), `renewed by others: ${by.join()}`)
    t.ok(eventsAbout(world, 'n0').includes('CloudLinkCut'))
    t.strictSame(world.condemned(), [])
    t.ok(world.allSee(), 'no local view hides it')

    world.healCloud(0)
    await world.run(40_000)
    t.strictSame(taintsOf(world, 'n0'), [])
    t.equal(reasonOf(world, 'n0'), 'PeersReachNode')
    t.equal(labelOf(world, 'n0'), undefined)
    t.ok(eventsAbout(world, 'n0').includes('VouchingEnded'))
    const after = renewals(world, 'n0', world.clock.now() - 30_000)
    t.ok(
      after.every(each => each === 'kubelet/n0'),
      'it renews its own Lease again',
    )
  })
})

t.test('vouching ends when the kubelet is sick, and when the node dies', async t => {
  await cutOne(t, { what: 'kubelet sick' }, async world => {
    world.machine(0).kubelet = 'sick'
    const endAt = world.clock.now()
    await world.run(60_000)
    t.strictSame(renewals(world, 'n0', endAt + 20_000), [], 'nobody renews for it')
    t.equal(reasonOf(world, 'n0'), 'KubeletSick')
    t.strictSame(world.condemned(), ['n0'])
    t.ok(!taintsOf(world, 'n0').includes(`${CUT}:NoSchedule`))
    t.ok(eventsAbout(world, 'n0').includes('VouchingEnded'))
  })
  await cutOne(t, { what: 'dies' }, async world => {
    world.crash(0)
    const endAt = world.clock.now()
    await world.run(60_000)
    t.strictSame(renewals(world, 'n0', endAt + 15_000), [])
    t.strictSame(world.condemned(), ['n0'])
    t.equal(reasonOf(world, 'n0'), 'PeersCannotReach')
  })
})

t.test('vouching ends when the quorum is lost', async t => {
  await cutOne(t, { what: 'quorum lost' }, async (world, control) => {
    world.partition([0, 1], [2], [3], [4])
    const endAt = world.clock.now()
    await world.run(120_000)
    t.strictSame(
      renewals(world, 'n0', endAt + 45_000),
      [],
      'a minority does not keep its node alive in the cluster',
    )
    t.ok(control.evictions.has('n0'), 'the control plane does what it always did')
    t.strictSame(world.condemned(), [])
  })
})

t.test('without vouching the control plane gives the node up', async t => {
  await cutOne(t, { what: 'off', flags: ['--vouch=off'] }, async (world, control, cutAt) => {
    t.equal(conditionOf(world, 'n0', 'Ready'), 'Unknown')
    t.ok(taintsOf(world, 'n0').includes(`${UNREACHABLE}:NoExecute`))
    t.equal(control.evictions.get('n0'), 1)
    t.strictSame(renewals(world, 'n0', cutAt + 1_000), [])
    t.strictSame(world.writesSince(cutAt), [], 'and nothing is written')
  })
})

t.test('--vouch=taint backs off when the control plane puts the taint back', async t => {
  await cutOne(t, { what: 'taint', flags: ['--vouch=taint'] }, async (world, control, cutAt) => {
    await world.run(480_000)
    const removals = world.cluster.writes.filter(
      ({ at, node, kind }) => at >= cutAt && node === 'n0' && kind === 'spec',
    ).length
    t.ok(removals >= 3 && removals <= 14, `${removals} writes of taints in ten minutes`)
    t.ok((control.evictions.get('n0') ?? 0) <= 14, 'and no more taints by the control plane')
    t.strictSame(renewals(world, 'n0', cutAt + 1_000), [])
    const beats = statusWrites(world, 'n0', cutAt + 60_000)
    const gaps = beats.slice(1).map((at, place) => at - beats[place]!)
    t.ok(beats.length > 40, `its peers say again that they vouch: ${beats.length} times`)
    t.ok(
      gaps.every(gap => gap < 15_000),
      `three times at least in half a minute: ${Math.max(...gaps)} ms`,
    )
    const words = world.machines.map(({ agent }) => agent?.views.node('n0')?.vouch.reason)
    t.ok(
      words.some(text => text?.includes('put')),
      `somebody says so: ${words.join('; ')}`,
    )
  })
})

t.test(
  'the whole zone is cut and a node dies: nothing is written until the link heals, then once',
  async t => {
    await scenario(t, { what: 'zone cut', size, seed: 5 }, async world => {
      await world.settled()
      world.cutCloud(...world.indices)
      await world.run(60_000)
      t.equal(world.machine(1).agent?.views.node('n0')?.class, 'zone-link-cut')
      world.crash(4)
      t.ok(
        (await world.until(() => world.allSee(4), 12_000)) !== undefined,
        'every local view shows it',
      )
      await world.run(120_000)
      t.strictSame(world.writesSince(0), [])
      const healedAt = world.clock.now()
      world.healCloud(0, 1, 2, 3)
      await world.run(60_000)
      t.equal(world.writesSince(healedAt).length, 1, world.writesSince(healedAt).join())
      t.strictSame(world.condemned(), ['n4'])
    })
    await scenario(t, { what: 'died and back', size, seed: 6 }, async world => {
      await world.settled()
      world.cutCloud(...world.indices)
      await world.run(40_000)
      world.crash(4)
      await world.run(60_000)
      world.repair(4)
      world.cutCloud(4)
      await world.run(60_000)
      world.healCloud(...world.indices)
      await world.run(60_000)
      t.strictSame(
        world.writesSince(0),
        [],
        'what was true only during the outage is never written',
      )
    })
  },
)

t.test(
  'the link heals while a condemned node comes back: its marks go on and off once',
  async t => {
    const zone = { what: 'heals and returns', size, profile: 'fast' } as const
    const moments = [
      [5, 2_200],
      [3, 300],
      [11, 5_500],
    ] as const
    for (const [seed, backAfterMs] of share(t, moments, 1, 'moments'))
      await scenario(t, { ...zone, seed, flags: ['--write-hold=4s'] }, async world => {
        await world.settled()
        world.cutCloud(...world.indices)
        await world.run(20_000)
        world.crash(4)
        await world.run(20_000)
        const healedAt = world.clock.now()
        world.healCloud(...world.indices)
        const isNoticed = (): boolean =>
          world.machines.some(({ agent }) => agent?.views.zone().cloudLink.state === 'up')
        await world.until(isNoticed, 20_000)
        await world.run(backAfterMs)
        world.repair(4)
        const areHealthy = (): boolean =>
          world.machines.every(({ agent }) =>
            world.machines.every(({ name }) => agent?.views.node(name)?.verdict === 'healthy'),
          )
        t.ok((await world.until(areHealthy, 30_000)) !== undefined, 'all verdicts are healthy')
        const healthyAt = world.clock.now()
        await world.run(60_000)
        const writes = world.cluster.writes.filter(
          ({ at, kind }) => at >= healedAt && kind !== 'lease',
        )
        t.strictSame(
          writes.map(({ node, mark }) => [node, ...mark]),
          [
            ['n4', false, true],
            ['n4', true, false],
          ],
          `seed ${seed}: what is true when the link heals, and the way back`,
        )
        const lateMs = writes.at(-1)!.at - healthyAt
        t.ok(lateMs < 1_500, `the last one ${lateMs.toFixed(0)} ms after the last verdict`)
      })
  },
)

t.test(
  'FA11: an apiserver that says it is unwell, and serves the Lease, is no cut link',
  async t => {
    await scenario(t, { what: 'livez 500', size, seed: 9 }, async world => {
      world.cluster.onCall = ({ by, what }) =>
        by === 'n0' && what === 'ping' ? unwell('GET /livez') : undefined
      await world.settled()
      await world.run(180_000)
      t.equal(world.machine(1).agent?.views.node('n0')?.class, 'healthy')
      t.strictSame(taintsOf(world, 'n0'), [])
      t.strictSame(world.writesSince(0), [], 'nothing is written')
    })
  },
)

t.test(
  'FA11: a node that says it is cut, while its kubelet renews its Lease, is not marked',
  async t => {
    for (const flags of share(t, [[], ['--vouch=taint']], 1, 'ways to vouch'))
      await scenario(
        t,
        { what: `agent alone is cut ${flags.join()}`, size, seed: 9, flags },
        async world => {
          // Network policies may stop the agent's pod alone, or its DNS: the kubelet is not asked.
          const isAgent = (what: string): boolean => !what.startsWith('patch') && what !== 'get n0'
          const cutFor = (isCut: boolean): void => {
            world.cluster.onCall = ({ by, what }) =>
              isCut && by === 'n0' && isAgent(what) ? unwell(what) : undefined
          }
          await world.settled()
          const cutAt = world.clock.now()
          cutFor(true)
          await world.run(120_000)
          t.equal(
            world.machine(1).agent?.views.node('n0')?.class,
            'cloud-link-cut',
            'by its own word',
          )
          const by = renewals(world, 'n0', cutAt)
          t.ok(
            by.every(each => each === 'kubelet/n0'),
            `nobody renews for it: ${by.join()}`,
          )
          t.strictSame(taintsOf(world, 'n0'), [])
          t.strictSame(world.writesSince(0), [], 'and nothing is said of it')

          world.machine(0).kubelet = 'well'
          world.cutCloud(0)
          await world.run(90_000)
          t.ok(
            taintsOf(world, 'n0').includes(`${CUT}:NoSchedule`),
            'once its kubelet stops, it is cut',
          )
          world.healCloud(0)
          await world.run(60_000)
          t.strictSame(taintsOf(world, 'n0'), [], 'until the kubelet renews again')
          cutFor(false)
          await world.run(30_000)
        },
      )
  },
)
