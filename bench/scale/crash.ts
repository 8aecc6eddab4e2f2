// SPDX-License-Identifier: Apache-2.0
import type { CoreZone } from '../../testkit/zone/core-zone.js'
import { memberOf } from '../../testkit/zone/core-agent.js'
import { VERDICT } from '../../vote/quorum.js'
import { bodyBytesOf, until, zoneOf, type Cell } from './cell.js'

/** Milliseconds from the crash, one entry per trial; of `local` one per trial and agent. */
export interface CrashTimes {
  /** Some observer's own probes say down. */
  readonly first: number[]
  /** Some agent counts enough votes. */
  readonly quorum: number[]
  readonly written: number[]
  /** An agent's local view shows it. */
  readonly local: number[]
  /** The last agent's does. */
  readonly all: number[]
  /** From the repair until no agent shows it down. */
  readonly recovered: number[]
  /** Bodies of messages from the first vote against it until it is seen by all and written; bytes per node and second. */
  readonly bodies: number[]
  trials: number
  /** Crashes that were not seen, written or forgotten again within their limits. */
  missed: number
  /** Writes about a node that was not down. */
  wrong: number
}

const WARM_MS = 30_000
const NOTICE_MS = 40_000
const RECOVER_MS = 60_000
const CALM_MS = 16_000
/** A node that falls again and again is damped, which is not what is measured: each falls once per zone. */
export const TRIALS_PER_ZONE = 6

/** In the order in which they come about. */
export const CRASH_TIMES = ['first', 'quorum', 'written', 'local', 'all', 'recovered'] as const

const emptyTimes = (): CrashTimes => ({
  ...{ first: [], quorum: [], written: [], local: [], all: [], recovered: [] },
  ...{ bodies: [], trials: 0, missed: 0, wrong: 0 },
})

/** Crash one node at a random moment and bring it back. */
const trial = async (zone: CoreZone, victim: number, times: CrashTimes): Promise<void> => {
  const { clock } = zone
  times.trials++
  await clock.advance(zone.makeRandom().below(10_000))
  const { name } = memberOf(victim)
  const diedAt = clock.now()
  const seen = new Set<number>()
  let first: number | undefined
  let quorum: number | undefined
  let written: number | undefined
  let burst: { readonly at: number; readonly bytes: number } | undefined
  zone.watcher = {
    round: (_, outcome) => {
      if (outcome.vote !== 'down' || outcome.target !== name) return
      first ??= clock.now() - diedAt
      burst ??= { at: clock.now(), bytes: bodyBytesOf(zone) }
    },
    vote: (by, { roster, judgement }) => {
      const index = roster.indexOf(name)!
      if (judgement.pending[index] === VERDICT.unhealthy) quorum ??= clock.now() - diedAt
      if (judgement.localUp[index] === 1 || seen.has(by)) return
      seen.add(by)
      times.local.push(clock.now() - diedAt)
      if (seen.size === zone.size - 1) times.all.push(clock.now() - diedAt)
    },
    wrote: ({ node, isDead }) => {
      if (node !== victim && isDead) times.wrong++
      if (node === victim && isDead) written ??= clock.now() - diedAt
    },
  }
  zone.crash(victim)
  const isKnown = (): boolean => written !== undefined && seen.size === zone.size - 1
  if (!(await until(zone, isKnown, NOTICE_MS))) times.missed++
  if (burst !== undefined) {
    const seconds = (clock.now() - burst.at) / 1_000
    times.bodies.push((bodyBytesOf(zone) - burst.bytes) / seconds / (zone.size - 1))
  }
  if (first !== undefined) times.first.push(first)
  if (quorum !== undefined) times.quorum.push(quorum)
  if (written !== undefined) times.written.push(written)
  await recover(zone, victim, times)
}

const recover = async (zone: CoreZone, victim: number, times: CrashTimes): Promise<void> => {
  zone.watcher = {
    wrote: ({ isDead }) => {
      if (isDead) times.wrong++
    },
  }
  const backAt = zone.clock.now()
  zone.boot(victim)
  const isUp = (): boolean => zone.live.every(n => !zone.isDownFrom(n, victim))
  if (await until(zone, isUp, RECOVER_MS)) times.recovered.push(zone.clock.now() - backAt)
  else times.missed++
  if (!(await until(zone, () => zone.marked.size === 0, RECOVER_MS))) times.missed++
  await zone.clock.advance(CALM_MS)
}

/** So many crashes in one zone, one after the other; at most as many as it has nodes. */
export const measureCrashes = async (cell: Cell, trials: number): Promise<CrashTimes> => {
  const times = emptyTimes()
  const { size } = cell
  const zone = await zoneOf(cell, WARM_MS)
  const start = zone.makeRandom().below(size)
  for (let i = 0; i < trials; i++)
    await trial(zone, (start + i * Math.ceil(size / trials)) % size, times)
  await zone.stop()
  return times
}

/** All trials of several zones. */
export const mergeTimes = (parts: readonly CrashTimes[]): CrashTimes => {
  const all = emptyTimes()
  for (const part of parts) {
    for (const name of [...CRASH_TIMES, 'bodies'] as const) all[name].push(...part[name])
    all.trials += part.trials
    all.missed += part.missed
    all.wrong += part.wrong
  }
  return all
}
