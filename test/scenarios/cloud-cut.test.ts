// SPDX-License-Identifier: Apache-2.0
// How soon an agent notices that its cloud link is cut.
import t from 'tap'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

/** The check's period varies by a tenth; the rest is the way to the apiserver, and how often the test looks. */
const boundMs = (world: World, isSilent: boolean): number => {
  const o = world.optionsOf(world.machine(0))
  const each = 1.1 * o.cloudCheckPeriodMs + (isSilent ? o.cloudCheckTimeoutMs : 0)
  return o.cloudCheckFailures * each + 200
}

/** The link of n0 is cut and comes back, again and again. @returns after how many milliseconds each cut was noticed */
const cuts = async (world: World, isSilent: boolean): Promise<number[]> => {
  const isCut = (): boolean => world.machine(0).agent?.views.zone().cloudLink.state === 'cut'
  const took: number[] = []
  for (let cut = 0; cut < 12; cut++) {
    // At another moment between two checks each time.
    await world.run(20_000 + 700 * cut)
    let release = (): void => undefined
    const silence = new Promise<void>(resolve => (release = resolve))
    if (isSilent) world.cluster.onCall = ({ by }) => (by === 'n0' ? silence : undefined)
    else world.cutCloud(0)
    took.push((await world.until(isCut, 120_000)) ?? Infinity)
    world.cluster.onCall = undefined
    release()
    world.healCloud(0)
    await world.until(() => !isCut(), 60_000)
  }
  return took
}

for (const [profile, refusedMs, silentMs] of [
  ['default', 22_000, 28_000],
  ['fast', 4_400, 6_400],
] as const)
  for (const isSilent of [false, true])
    t.test(
      `${profile}: a cloud link that ${isSilent ? 'swallows packets' : 'refuses'} is noticed as cut in time`,
      async t => {
        const zone = { what: profile, size: 3, profile, seed: 8 }
        await scenario(t, zone, async world => {
          await world.settled(30_000)
          const took = await cuts(world, isSilent)
          const most = Math.max(...took)
          t.ok(most <= boundMs(world, isSilent), `${took.join()} ms`)
          t.ok(most <= (isSilent ? silentMs : refusedMs) + 200, 'with the defaults of the options')
          t.ok(most > boundMs(world, isSilent) / 2, 'one failure alone is no cut link')
        })
      },
    )
