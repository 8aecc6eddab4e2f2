// SPDX-License-Identifier: Apache-2.0
import { Counts } from '../../core/counts.js'
import { Histogram } from '../../net/metrics-text.js'

/** Seconds: from a grid that is as wanted to thousands of applies. */
const DURATION_BOUNDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60]

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
  /** Of reconciles, in seconds. */
  readonly durations = new Histogram(DURATION_BOUNDS)
}
