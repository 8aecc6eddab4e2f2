// SPDX-License-Identifier: Apache-2.0
import { cellOf, type Plan } from './arguments.js'
import { mergeTimes, TRIALS_PER_ZONE } from './crash.js'
import type { Job, Measured } from './job.js'
import { runJobs } from './pool.js'
import type { BurstRow, CrashRow, PartitionRow, QuietRow } from './tables.js'
import { showProgress } from './terminal.js'

/** A row before it is measured: its zones, each of which may run on a thread of its own. */
export interface Order<R> {
  readonly jobs: readonly Job[]
  /** The row, from what its jobs measured. */
  readonly finish: (measured: readonly Measured[]) => R
}

const only = <K extends Measured['kind']>(
  kind: K,
  measured: readonly Measured[],
): Extract<Measured, { kind: K }>['value'][] =>
  measured.flatMap(each => (each.kind === kind ? [each.value] : [])) as never

export const crashOrder = (
  plan: Plan,
  size: number,
  lossPercent: number,
  trials: number,
): Order<CrashRow> => {
  const perZone = Math.min(size, TRIALS_PER_ZONE)
  const zones = Math.ceil(trials / perZone)
  return {
    jobs: Array.from({ length: zones }, (_, zone) => ({
      kind: 'crash',
      cell: cellOf(plan, size, lossPercent, zone),
      trials: Math.min(perZone, trials - zone * perZone),
    })),
    finish: all => ({
      size,
      lossPercent,
      identity: plan.identity,
      times: mergeTimes(only('crash', all)),
    }),
  }
}

/** So many zones, in each of which it happens once. */
export const burstOrder = (
  plan: Plan,
  size: number,
  lossPercent: number,
  zones: number,
): Order<BurstRow> => ({
  jobs: Array.from({ length: zones }, (_, zone) => ({
    kind: 'burst',
    cell: cellOf(plan, size, lossPercent, zone),
  })),
  finish: all => ({ size, lossPercent, identity: plan.identity, bursts: only('burst', all) }),
})

export const quietOrder = (
  plan: Plan,
  size: number,
  lossPercent: number,
  minutes: number,
): Order<QuietRow> => ({
  jobs: [{ kind: 'quiet', cell: cellOf(plan, size, lossPercent), minutes }],
  finish: all => ({ size, lossPercent, identity: plan.identity, quiet: only('quiet', all)[0]! }),
})

export interface Cut {
  readonly size: number
  /** Percent on the smaller side. */
  readonly split: number
  readonly lossPercent: number
}

/** So many runs, from the zone with the number `first` on. */
export const partitionOrder = (
  plan: Plan,
  { size, split, lossPercent }: Cut,
  runs: number,
  first = 0,
): Order<PartitionRow> => ({
  jobs: Array.from({ length: runs }, (_, run) => ({
    kind: 'partition',
    cell: cellOf(plan, size, lossPercent, first + run),
    share: split / 100,
  })),
  finish: all => ({
    size,
    split,
    lossPercent,
    identity: plan.identity,
    runs: only('partition', all),
  }),
})

/** All cuts of these, with so many runs shared out among them; each run has a seed of its own. */
export const partitionOrders = (
  plan: Plan,
  cuts: readonly Cut[],
  runs: number,
): Order<PartitionRow>[] => {
  const before = (cut: number): number => Math.floor((runs * cut) / cuts.length)
  return cuts.map((cut, i) => partitionOrder(plan, cut, before(i + 1) - before(i), before(i)))
}

export const cutsOf = (
  sizes: readonly number[],
  splits: readonly number[],
  losses: readonly number[],
): Cut[] =>
  sizes.flatMap(size =>
    splits.flatMap(split => losses.map(lossPercent => ({ size, split, lossPercent }))),
  )

type RowsOf<T> = { [K in keyof T]: (T[K] extends readonly Order<infer R>[] ? R : never)[] }

/**
 * Measure all rows of several tables at once.
 * @param texts how a table with one row looks; in a long run each row is shown so, on standard error, as soon as it is done
 */
export const fill = async <T extends Record<string, readonly Order<unknown>[]>>(
  program: URL,
  plan: Plan,
  tables: T,
  texts: { readonly [K in keyof T]?: (rows: RowsOf<T>[K]) => string } = {},
): Promise<RowsOf<T>> => {
  const rows = Object.entries(tables).flatMap(([name, list]) =>
    list.map(order => ({ name, order, left: order.jobs.length, measured: [] as Measured[] })),
  )
  const places = rows.flatMap(row => row.order.jobs.map((job, at) => ({ row, job, at })))
  const progress = showProgress(places.length)
  await runJobs(
    program,
    places.map(({ job }) => job),
    {
      threads: plan.threads,
      onDone: (place, result) => {
        const { row, job, at } = places[place]!
        row.measured[at] = result
        progress.done(job)
        if (--row.left > 0) return
        const text = texts[row.name]?.([row.order.finish(row.measured)] as never)
        if (text !== undefined) progress.row(text)
      },
    },
  )
  progress.end()
  const rowsOf = (name: string): unknown[] =>
    rows.filter(row => row.name === name).map(({ order, measured }) => order.finish(measured))
  return Object.fromEntries(Object.keys(tables).map(name => [name, rowsOf(name)])) as never
}
