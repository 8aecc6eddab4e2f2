// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { ControlPlane } from './control-plane.js'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const size = 4
const MINUTE_MS = 60_000

/** Every value that the Lease of n0 gets, with what the apiserver's clock shows then. */
const follow = async (world: World, ms: number, seen: [renewMs: number, serverMs: number][]) => {
  for (const end = world.clock.now() + ms; world.clock.now() < end;) {
    await world.run(500)
    const renewMs = Date.parse(world.cluster.lease('n0').renewTime!)
    if (renewMs !== seen.at(-1)?.[0]) seen.push([renewMs, world.cluster.serverWall()])
  }
}

/** Cut n0's cloud link for four minutes, while the clocks of these machines are wrong. */
const cutN0 = async (
  t: Parameters<typeof scenario>[0],
  wrong: { readonly what: string; readonly by: (index: number) => number },
  check: (
    control: ControlPlane,
    seen: readonly (readonly [number, number])[],
    world: World,
  ) => void,
): Promise<void> =>
  scenario(t, { what: wrong.what, size, seed: 3 }, async world => {
    const names = world.machines.map(({ name }) => name)
    world.machines.forEach((machine, index) => (machine.wall.offsetMs = wrong.by(index)))
    // Whatever its clock, the node has always renewed by it.
    const { spec } = world.cluster.raw('lease', 'n0') as unknown as { spec: object }
    const renewTime = '2025-12-31T00:00:00.000000Z'
    world.cluster.edit('lease', 'n0', { spec: { ...spec, renewTime } })
    const control = new ControlPlane(world.clock, world.cluster, names)
    await world.settled()
    const seen: [number, number][] = []
    await follow(world, MINUTE_MS, seen)
    world.cutCloud(0)
    await follow(world, 4 * MINUTE_MS, seen)
    const renewals = world.cluster.writes.filter(w => w.kind === 'lease' && w.node === 'n0')
    t.not(renewals.at(-1)?.by, 'kubelet/n0', 'its peers renew it')
    world.healCloud(0)
    await follow(world, 3 * MINUTE_MS, seen)
    control.stop()
    check(control, seen, world)
  })

const peers =
  (ms: number) =>
  (index: number): number =>
    index === 0 ? 0 : ms
const own =
  (ms: number) =>
  (index: number): number =>
    index === 0 ? ms : 0

const clocks = [
  ["the vouchers' clocks are 2 min slow", peers(-2 * MINUTE_MS)],
  ["the vouchers' clocks are 2 min ahead", peers(2 * MINUTE_MS)],
  ['all clocks are right', peers(0)],
  ["the vouchers' clocks show 1970", peers(-Date.UTC(2026, 0, 1))],
  ["the vouchers' clocks show 2099", peers(Date.UTC(2099, 0, 1) - Date.UTC(2026, 0, 1))],
  ["the node's own clock is 2 min slow", own(-2 * MINUTE_MS)],
] as const
for (const [what, by] of share(t, clocks, 2, 'clocks'))
  t.test(
    `FA8, FA25: ${what}: the Lease only goes forward, and never past the apiserver`,
    async t => {
      await cutN0(t, { what, by }, (control, seen) => {
        const times = seen.map(([renewMs]) => renewMs)
        const back = times.filter((ms, place) => ms <= (times[place - 1] ?? -Infinity))
        t.strictSame(back, [], 'never back')
        const ahead = seen.filter(([renewMs, serverMs]) => renewMs > serverMs)
        t.strictSame(ahead, [], 'never ahead')
        const silence = control.silences.get('n0')!
        t.ok(silence < 40_000, `the control plane heard nothing for ${silence} ms at most`)
        t.equal(control.evictions.get('n0'), undefined)
      })
    },
  )

t.test(
  'FA25: a Lease that is ahead of the apiserver is left alone until its clock gets there',
  async t => {
    const what = "the node's own clock is 2 min ahead"
    await cutN0(t, { what, by: own(2 * MINUTE_MS) }, (_, seen, world) => {
      const renewals = world.cluster.writes.filter(w => w.kind === 'lease' && w.node === 'n0')
      const cutAt = renewals.find(({ by }) => by !== 'kubelet/n0')!.at
      const last = renewals.filter(({ at }) => at < cutAt).at(-1)!.at
      t.ok(cutAt - last > 2 * MINUTE_MS - 15_000, `${cutAt - last} ms without a renewal`)
      const times = seen.map(([renewMs]) => renewMs)
      t.strictSame(
        times,
        [...times].sort((a, b) => a - b),
        'never back',
      )
      const words = world.machines.flatMap(({ log }) =>
        log.lines.map(({ fields }) => fields['trouble']),
      )
      t.ok(
        words.some(word => String(word).includes("beyond the apiserver's clock")),
        'and says so',
      )
    })
  },
)
