// SPDX-License-Identifier: Apache-2.0
import type { Plan } from './arguments.js'
import { barsFor, lateWritesFor } from './bars.js'
import { mean, quantile } from './figures.js'
import { crashOrder, cutsOf, fill, partitionOrders, quietOrder } from './rows.js'
import type { CrashRow, PartitionRow, QuietRow } from './tables.js'

/** One thing that must be so. Virtual time does not depend on the machine, so times are among them. */
export interface Claim {
  readonly text: string
  readonly isSo: boolean
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

const atMost = (
  what: string,
  value: number,
  limit: number,
  show: (n: number) => string,
): Claim => ({
  text: `${what}: ${show(value)}, at most ${show(limit)}`,
  isSo: value <= limit,
})

const none = (what: string, count: number): Claim => ({
  text: `${what}: ${count}`,
  isSo: count === 0,
})

/** Half of so few says nothing about the half of all. */
const ENOUGH_TRIALS = 12
/**
 * The median of a sample lies above that of all crashes as often as below. It breaks its bar only where chance does not
 * explain it: where even the share 0.5 − 1/√n, its lower bound at two standard errors, is above.
 */
const medianAtLeast = (values: readonly number[]): number =>
  quantile(values, 0.5 - 1 / Math.sqrt(values.length))
const FALSE_DOWNS_PER_PAIR_HOUR = 0.01

const aboutWriting = (zone: string, p99: number, bar: number, late: number | undefined): Claim =>
  late === undefined
    ? atMost(`${zone}: written after`, p99, bar, seconds)
    : atMost(`${zone}: written after (bar ${seconds(bar)} is missed)`, p99, late, seconds)

const aboutCrashes = (
  { profile }: Plan,
  { size, lossPercent, identity, times }: CrashRow,
): Claim[] => {
  const signed = identity === 'off' ? '' : `, --identity ${identity}`
  const zone = `N=${size}, loss ${lossPercent} %${signed}, ${times.trials} crashes`
  const always = [
    none(`${zone}: not seen, not written or not cleared in time`, times.missed),
    none(`${zone}: writes about a node that was not down`, times.wrong),
  ]
  if (lossPercent > 0) return always
  const bars = barsFor({ profile, size })
  const p50 = [
    atMost(
      `${zone}: half are seen by all after at least`,
      medianAtLeast(times.all),
      bars.allP50,
      seconds,
    ),
    atMost(
      `${zone}: half are written after at least`,
      medianAtLeast(times.written),
      bars.writtenP50,
      seconds,
    ),
  ]
  const p99 = [
    atMost(`${zone}: seen by all after`, quantile(times.all, 0.99), bars.allP99, seconds),
    aboutWriting(
      zone,
      quantile(times.written, 0.99),
      bars.writtenP99,
      lateWritesFor({ profile, size }),
    ),
  ]
  return [
    ...always,
    ...(times.trials < ENOUGH_TRIALS ? [] : p50),
    // It depends on when probes are made, which identities do not change: it is judged in the rows without.
    ...(identity === 'off' ? p99 : []),
  ]
}

/** By how much the messages of a death may be longer where nodes sign with keys of their own. */
const SIGNED_TIMES = 1.8
/** By how much half of the deaths may be written later there. */
const SIGNED_LATER_MS = 300

/** Rows with identities beside the same ones without. */
const aboutSignatures = (rows: readonly CrashRow[]): Claim[] =>
  rows.flatMap(({ size, lossPercent, identity, times }) => {
    const isSame = (row: CrashRow): boolean =>
      row.size === size && row.lossPercent === lossPercent && row.identity === 'off'
    const without = rows.find(isSame)
    if (identity === 'off' || without === undefined) return []
    const what = `N=${size}, loss ${lossPercent} %: bodies in a death, --identity ${identity} beside off`
    const more = mean(times.bodies) / mean(without.times.bodies)
    const bodies = atMost(what, more, SIGNED_TIMES, n => `${n.toFixed(2)} times`)
    if (lossPercent > 0 || times.trials < ENOUGH_TRIALS) return [bodies]
    const later = medianAtLeast(times.written) - quantile(without.times.written, 0.5)
    const half = `N=${size}: median written later, lower bound, --identity ${identity} beside off`
    return [bodies, atMost(half, later, SIGNED_LATER_MS, seconds)]
  })

const aboutQuiet = ({ profile }: Plan, { size, lossPercent, quiet }: QuietRow): Claim[] => {
  const zone = `N=${size}, loss ${lossPercent} %, ${(60 * quiet.hours).toFixed(0)} quiet minutes`
  const always = [
    none(`${zone}: condemnations`, quiet.falseVerdictsPerNodeHour),
    none(`${zone}: writes`, quiet.wrong),
  ]
  const downs = (limit: number): Claim =>
    atMost(`${zone}: false downs per pair and hour`, quiet.falseDownsPerPairHour, limit, String)
  if (lossPercent > 0)
    return profile === 'default' ? [...always, downs(FALSE_DOWNS_PER_PAIR_HOUR)] : always
  const bars = barsFor({ profile, size })
  return [
    ...always,
    downs(0),
    atMost(
      `${zone}: sent per second and node`,
      quiet.wireBytesPerSecond,
      bars.bytesPerSecond,
      n => `${n.toFixed(0)} B`,
    ),
    atMost(`${zone}: probes per second and node`, quiet.probesPerSecond, bars.probesPerSecond, n =>
      n.toFixed(2),
    ),
  ]
}

const aboutPartitions = ({ size, split, lossPercent, runs }: PartitionRow): Claim[] => {
  const zone = `N=${size}, ${split}/${100 - split}, loss ${lossPercent} %, ${runs.length} runs`
  const wrong = runs.reduce((sum, run) => sum + run.wrong, 0)
  const unclean = runs.filter(run => run.clean === Infinity).length
  const missing = runs.filter(run => run.writtenShare < (2 * split < 100 ? 1 : 0)).length
  return [
    none(`${zone}: writes by a minority, or about the own side`, wrong),
    none(`${zone}: runs in which the majority did not write the whole other side`, missing),
    none(`${zone}: runs in which views were wrong a minute after the end`, unclean),
  ]
}

/** What the rows must show. */
export const claimsOf = (
  plan: Plan,
  rows: {
    readonly crash: readonly CrashRow[]
    readonly quiet: readonly QuietRow[]
    readonly partition: readonly PartitionRow[]
  },
): Claim[] => [
  ...rows.crash.flatMap(row => aboutCrashes(plan, row)),
  ...aboutSignatures(rows.crash),
  ...rows.quiet.flatMap(row => aboutQuiet(plan, row)),
  ...rows.partition.flatMap(aboutPartitions),
]

/** The smallest set of zones that shows every invariant: a few minutes on two cores. */
export const checkInvariants = async (program: URL, plan: Plan): Promise<Claim[]> => {
  const lossy = plan.profile === 'default' ? 30 : 10
  const signed = { ...plan, identity: 'require' } as const
  const { crash, quiet, partition } = await fill(program, plan, {
    crash: [
      // About one crash in 200 takes longer than the 99th percentile that is asked for.
      crashOrder(plan, 3, 0, 120),
      crashOrder(plan, 10, 0, 120),
      crashOrder(plan, 64, 0, 3),
      crashOrder(plan, 100, 0, 4),
      crashOrder(plan, 300, 0, 2),
      crashOrder(plan, 10, lossy, 12),
      crashOrder(plan, 100, lossy, 2),
      crashOrder(signed, 10, 0, 48),
      crashOrder(signed, 100, 0, 6),
      crashOrder(signed, 10, lossy, 12),
    ],
    quiet: [
      quietOrder(plan, 3, 0, 30),
      quietOrder(plan, 10, 0, 20),
      quietOrder(plan, 64, 0, 2),
      quietOrder(plan, 100, 0, 2),
      quietOrder(plan, 300, 0, 1),
      quietOrder(plan, 10, lossy, 60),
      quietOrder(plan, 100, lossy, 2),
    ],
    partition: [
      ...partitionOrders(plan, cutsOf([10], [50, 30, 10], [0, lossy]), 12),
      ...partitionOrders(plan, cutsOf([100], [50, 30], [10]), 2),
    ],
  })
  return claimsOf(plan, { crash, quiet, partition })
}
