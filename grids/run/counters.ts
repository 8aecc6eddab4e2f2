// SPDX-License-Identifier: Apache-2.0
import { Counts } from '../../core/counts.js'

/** Upper bounds of the histogram of reconciles, in seconds. */
export const SECONDS_BUCKETS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60] as const

/** What the controller has done since it started; metrics and tests read it. */
export class Counters {
  /** Requests that write children, by what they were and what became of them: `apply done`. */
  readonly writes = new Counts()
  /** Applies by why they were needed. */
  readonly drift = new Counts()
  /** Status writes by what became of them. */
  readonly statuses = new Counts()
  /** Reconciles by what became of them. */
  readonly reconciles = new Counts()
  readonly buckets: number[] = SECONDS_BUCKETS.map(() => 0)
  seconds = 0
  reconciled = 0

  took(ms: number): void {
    const seconds = ms / 1_000
    this.seconds += seconds
    this.reconciled++
    for (const [at, bound] of SECONDS_BUCKETS.entries())
      if (seconds <= bound) this.buckets[at] = this.buckets[at]! + 1
  }
}
