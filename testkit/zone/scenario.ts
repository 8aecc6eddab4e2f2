// SPDX-License-Identifier: Apache-2.0
import type { Test } from 'tap'
import { shareOf } from '../share.js'
import { World, type WorldOptions } from './world.js'

const warnings: string[] = []
process.on('warning', warning => warnings.push(`${warning.name}: ${warning.message}`))

/**
 * Play a scene in a zone, and check that no invariant was broken, no timer is left and Node.js warned of nothing.
 */
export const scenario = async (
  t: Test,
  zone: WorldOptions & { readonly what: string; readonly size: number },
  play: (world: World) => Promise<void>,
): Promise<void> => {
  const { what, size } = zone
  const world = new World(size, zone)
  await play(world)
  await world.stop()
  t.strictSame(world.observer.broken, [], `${what}: nothing that must never happen`)
  t.equal(world.clock.waiting, 0, `${what}: no timer is left`)
  t.strictSame(warnings.splice(0), [], `${what}: no warning of Node`)
}

/** This node dies and is marked, as the only one, within `ms`; default 40 s. */
export const diesMarked = async (
  t: Test,
  world: World,
  victim: number,
  ms = 40_000,
): Promise<void> => {
  world.crash(victim)
  await world.run(ms)
  t.strictSame(world.condemned(), [world.machine(victim).name])
}

/** The median and the 99th percentile; of fewer than a hundred the largest. */
const percentiles = (values: readonly number[]): readonly [p50: number, p99: number] => {
  const sorted = [...values].sort((a, b) => a - b)
  return [sorted[Math.floor(sorted.length / 2)]!, sorted[Math.ceil(0.99 * (sorted.length - 1))]!]
}

/** Power off one node: until the last local view shows it, and until it is written; in milliseconds. */
export const timeCrash = async (world: World, victim: number): Promise<[number, number]> => {
  const diedAt = world.clock.now()
  world.crash(victim)
  const seenMs = (await world.until(() => world.allSee(victim), 30_000)) ?? Infinity
  await world.until(() => world.condemned().length > 0, 30_000)
  const write = world.cluster.writes.find(({ at, kind }) => at >= diedAt && kind !== 'lease')
  return [seenMs, Math.round((write?.at ?? Infinity) - diedAt)]
}

/** The bars of design and documentation; in milliseconds. */
export interface Bounds {
  readonly p50: number
  readonly p99: number
}

/** The median of fewer crashes is a matter of luck. */
const ENOUGH = 30

/** Many crashes in zones of ten, each at another moment: how soon they are seen and written. */
export const timeCrashes = async (
  t: Test,
  zone: {
    readonly profile: 'default' | 'fast'
    readonly seeds: number
    /** So many of them where a share is asked for. */
    readonly few: number
    readonly settleMs: number
  },
  bounds: { readonly seen: Bounds; readonly written: Bounds },
): Promise<void> => {
  const size = 10
  const { profile, settleMs } = zone
  const seeds = shareOf(t, zone.seeds, zone.few, 'crashes')
  const times: [number, number][] = []
  for (let seed = 1; seed <= seeds; seed++) {
    await scenario(t, { what: `seed ${seed}`, size, seed, profile }, async world => {
      await world.settled(settleMs + 137 * (seed % 10))
      times.push(await timeCrash(world, seed % size))
    })
  }
  const kinds = ['seen', 'written'] as const
  kinds.forEach((kind, place) => {
    const [p50, p99] = percentiles(times.map(pair => pair[place]!))
    const text = `${profile}, ${seeds} seeds: ${kind} p50 ${p50} ms, p99 ${p99} ms`
    t.comment(text)
    t.ok((seeds < ENOUGH || p50 <= bounds[kind].p50) && p99 <= bounds[kind].p99, text)
  })
}
