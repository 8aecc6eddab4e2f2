// SPDX-License-Identifier: Apache-2.0
import type { Cell } from './cell.js'
import { measureCrashes, type CrashTimes } from './crash.js'
import { measurePartition, type PartitionRun } from './partition.js'
import { measureQuiet, type Quiet } from './quiet.js'

/** What can be measured of one zone: the unit of work of one thread. */
export type Job =
  | { readonly kind: 'crash'; readonly cell: Cell; readonly trials: number }
  | { readonly kind: 'quiet'; readonly cell: Cell; readonly minutes: number }
  /** `share` of the zone is cut off. */
  | { readonly kind: 'partition'; readonly cell: Cell; readonly share: number }

export type Measured =
  | { readonly kind: 'crash'; readonly value: CrashTimes }
  | { readonly kind: 'quiet'; readonly value: Quiet }
  | { readonly kind: 'partition'; readonly value: PartitionRun }

/** Its result depends on the job alone. */
export const measure = async (job: Job): Promise<Measured> => {
  switch (job.kind) {
    case 'crash':
      return { kind: 'crash', value: await measureCrashes(job.cell, job.trials) }
    case 'quiet':
      return { kind: 'quiet', value: await measureQuiet(job.cell, job.minutes) }
    case 'partition':
      return { kind: 'partition', value: await measurePartition(job.cell, job.share) }
  }
}

/** Virtual node-seconds, and what messages and rounds cost in them: good enough to begin with the longest. */
export const costOf = (job: Job): number => {
  const { size } = job.cell
  const seconds =
    job.kind === 'crash' ? 30 + 60 * job.trials : job.kind === 'quiet' ? 60 * job.minutes : 120
  return seconds * size * (10 + Math.min(size, 64) + size / 10)
}

export const titleOf = (job: Job): string => {
  const { size, loss } = job.cell
  const what =
    job.kind === 'crash'
      ? `${job.trials} crashes`
      : job.kind === 'quiet'
        ? `${job.minutes} quiet minutes`
        : `a cut of ${Math.round(100 * job.share)}/${Math.round(100 - 100 * job.share)}`
  return `N=${size}, loss ${Math.round(100 * loss)} %: ${what}`
}
