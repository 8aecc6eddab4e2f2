// SPDX-License-Identifier: Apache-2.0
import { measureBurst, type Burst } from './burst.js'
import type { Cell } from './cell.js'
import { measureCrashes, type CrashTimes } from './crash.js'
import { measurePartition, type PartitionRun } from './partition.js'
import { measureQuiet, type Quiet } from './quiet.js'

/** What can be measured of one zone: the unit of work of one thread. */
export type Job =
  | { readonly kind: 'crash'; readonly cell: Cell; readonly trials: number }
  | { readonly kind: 'burst'; readonly cell: Cell }
  | { readonly kind: 'quiet'; readonly cell: Cell; readonly minutes: number }
  /** `share` of the zone is cut off. */
  | { readonly kind: 'partition'; readonly cell: Cell; readonly share: number }

export type Measured =
  | { readonly kind: 'crash'; readonly value: CrashTimes }
  | { readonly kind: 'burst'; readonly value: Burst }
  | { readonly kind: 'quiet'; readonly value: Quiet }
  | { readonly kind: 'partition'; readonly value: PartitionRun }

/** Its result depends on the job alone. */
export const measure = async (job: Job): Promise<Measured> => {
  switch (job.kind) {
    case 'crash':
      return { kind: 'crash', value: await measureCrashes(job.cell, job.trials) }
    case 'burst':
      return { kind: 'burst', value: await measureBurst(job.cell) }
    case 'quiet':
      return { kind: 'quiet', value: await measureQuiet(job.cell, job.minutes) }
    case 'partition':
      return { kind: 'partition', value: await measurePartition(job.cell, job.share) }
  }
}

const secondsOf = (job: Job): number => {
  switch (job.kind) {
    case 'crash':
      return 30 + 60 * job.trials
    case 'quiet':
      return 60 * job.minutes
    case 'burst':
    case 'partition':
      return 120
  }
}

/** Virtual node-seconds, and what messages and rounds cost in them: good enough to begin with the longest. */
export const costOf = (job: Job): number => {
  const { size } = job.cell
  return secondsOf(job) * size * (10 + Math.min(size, 64) + size / 10)
}

const whatOf = (job: Job): string => {
  switch (job.kind) {
    case 'crash':
      return `${job.trials} crashes`
    case 'burst':
      return 'a tenth dies at once'
    case 'quiet':
      return `${job.minutes} quiet minutes`
    case 'partition':
      return `a cut of ${Math.round(100 * job.share)}/${Math.round(100 - 100 * job.share)}`
  }
}

export const titleOf = (job: Job): string => {
  const { size, loss } = job.cell
  return `N=${size}, loss ${Math.round(100 * loss)} %: ${whatOf(job)}`
}
