// SPDX-License-Identifier: Apache-2.0
import type { Burst } from './burst.js'
import type { Identity } from './cell.js'
import { CRASH_TIMES, type CrashTimes } from './crash.js'
import { inColumns, inSeconds, mean, quantile, short, spread } from './figures.js'
import type { PartitionRun } from './partition.js'
import type { Quiet } from './quiet.js'

/** A row of each table, as measured. */
export interface CrashRow {
  readonly size: number
  readonly lossPercent: number
  readonly identity: Identity
  readonly times: CrashTimes
}
export interface BurstRow {
  readonly size: number
  readonly lossPercent: number
  readonly identity: Identity
  readonly bursts: readonly Burst[]
}
export interface QuietRow {
  readonly size: number
  readonly lossPercent: number
  readonly identity: Identity
  readonly quiet: Quiet
}
export interface PartitionRow {
  readonly size: number
  /** Percent on the smaller side. */
  readonly split: number
  readonly lossPercent: number
  readonly identity: Identity
  readonly runs: readonly PartitionRun[]
}

const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0)

export const crashTable = (rows: readonly CrashRow[]): string => {
  const head = [
    ...['N', 'loss', 'crashes', 'identity', 'first', 'quorum', 'write', 'LV', 'all LV', 'recovery'],
    ...['bodies B/s', 'missed', 'wrong'],
  ]
  const cells = rows.map(({ size, lossPercent, identity, times }) => [
    ...[String(size), `${lossPercent} %`, String(times.trials), identity],
    ...CRASH_TIMES.map(name => spread(times[name])),
    ...[mean(times.bodies).toFixed(0), String(times.missed), String(times.wrong)],
  ])
  return `From a node's crash, p50/p99 in seconds; LV is one agent's local view, recovery is from its return; bodies sent by a node from the first vote to view and write\n${inColumns(head, cells)}\n`
}

/** What did not come about within its limit counts as infinitely late. */
const timesOf = (bursts: readonly Burst[], what: 'seen' | 'written'): readonly number[] =>
  bursts.map(burst => burst[what] ?? Infinity)

export const burstTable = (rows: readonly BurstRow[]): string => {
  const head = [
    ...['N', 'loss', 'zones', 'dead', 'identity', 'quiet B/s', 'burst B/s'],
    ...['all seen', 'all written', 'wrong'],
  ]
  const cells = rows.map(({ size, lossPercent, identity, bursts }) => [
    ...[String(size), `${lossPercent} %`, String(bursts.length), String(bursts[0]?.dead ?? 0)],
    ...[identity, mean(bursts.map(burst => burst.quietBytesPerSecond)).toFixed(0)],
    mean(bursts.map(burst => burst.bodyBytesPerSecond)).toFixed(0),
    ...[spread(timesOf(bursts, 'seen')), spread(timesOf(bursts, 'written'))],
    String(sum(bursts.map(burst => burst.wrong))),
  ])
  return `A tenth dies at once: bodies sent by a live node before, and in the 20 s from then on; p50/p99 in seconds until all that live see all of them, and until all are written\n${inColumns(head, cells)}\n`
}

export const quietTable = (rows: readonly QuietRow[]): string => {
  const head = [
    ...['N', 'loss', 'identity', 'B/s', 'of it bodies', 'probes/s', 'node-hours'],
    ...['false downs/pair-h', 'false condemnations/node-h', 'wrong'],
    'age p50/p99/max',
  ]
  const cells = rows.map(({ size, lossPercent, identity, quiet }) => [
    ...[String(size), `${lossPercent} %`, identity, quiet.wireBytesPerSecond.toFixed(0)],
    ...[quiet.bodyBytesPerSecond.toFixed(0), quiet.probesPerSecond.toFixed(1)],
    ...[short(quiet.hours * size), short(quiet.falseDownsPerPairHour)],
    ...[short(quiet.falseVerdictsPerNodeHour), String(quiet.wrong)],
    [quiet.age.p50, quiet.age.p99, quiet.age.max].map(inSeconds).join('/'),
  ])
  return `Nothing happens: sent by one node, with HTTP and TCP; mistakes of the whole zone; how old what a node knows of the others is, in seconds\n${inColumns(head, cells)}\n`
}

export const partitionTable = (rows: readonly PartitionRow[]): string => {
  const head = [
    ...[
      'N',
      'split',
      'loss',
      'runs',
      'identity',
      'small side hides',
      'large side hides',
      'first write',
    ],
    ...['written', 'wrong', 'own side hidden', 'clean after'],
  ]
  const cells = rows.map(({ size, split, lossPercent, identity, runs }) => [
    ...[String(size), `${split}/${100 - split}`, `${lossPercent} %`, String(runs.length), identity],
    ...[spread(runs.map(run => run.hidden[0])), spread(runs.map(run => run.hidden[1]))],
    spread(runs.map(run => run.firstWrite)),
    `${(100 * mean(runs.map(run => run.writtenShare))).toFixed(0)} %`,
    String(sum(runs.map(run => run.wrong))),
    short(mean(runs.map(run => run.ownSideHidden))),
    spread(runs.map(run => run.clean)),
  ])
  return `Partitions, p50/p99 in seconds: until 99 % of the other side is hidden, until the majority's first write, after the end\n${inColumns(head, cells)}\n`
}

/** What `-o json` prints of a row: quantiles instead of lists. */
export const crashJson = ({ size, lossPercent, identity, times }: CrashRow): object => ({
  ...{ size, lossPercent, identity, bodyBytesPerSecond: mean(times.bodies) },
  ...{ trials: times.trials, missed: times.missed, wrong: times.wrong },
  ...Object.fromEntries(
    CRASH_TIMES.map(name => {
      const list = times[name]
      return [name, { p50: quantile(list, 0.5), p99: quantile(list, 0.99), max: quantile(list, 1) }]
    }),
  ),
})

/** Over all rows; a table that is left out has none. */
export const wrongWrites = ({
  crash = [],
  burst = [],
  quiet = [],
  partition = [],
}: {
  readonly crash?: readonly CrashRow[]
  readonly burst?: readonly BurstRow[]
  readonly quiet?: readonly QuietRow[]
  readonly partition?: readonly PartitionRow[]
}): number =>
  sum(crash.map(row => row.times.wrong)) +
  sum(burst.flatMap(row => row.bursts.map(({ wrong }) => wrong))) +
  sum(quiet.map(row => row.quiet.wrong)) +
  sum(partition.flatMap(row => row.runs.map(run => run.wrong)))
