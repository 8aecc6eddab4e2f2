// SPDX-License-Identifier: Apache-2.0
import { Counts } from '../../core/counts.js'
import type { WorkResult } from '../../controller/work-queue.js'
import { Histogram } from '../../net/metrics-text.js'
import type { Operation } from '../model/decide.js'
import type { DriftCause } from '../model/drift.js'
import type { Outcome } from './executor.js'

/** Seconds: from a grid that is as wanted to thousands of applies. */
const DURATION_BOUNDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60]

const OPERATIONS: readonly (Operation['kind'] | 'dry-run')[] = ['apply', 'delete', 'mark', 'dry-run'] // prettier-ignore
const OUTCOMES: readonly Outcome['kind'][] = ['done', 'refused', 'stale', 'withheld', 'unavailable']
const CAUSES: readonly (DriftCause | 'missing' | 'taken-over')[] = ['missing', 'taken-over', 'never-applied', 'not-ours', 'not-wanted', 'changed'] // prettier-ignore
const RESULTS: readonly WorkResult['kind'][] = ['done', 'failed']

/** What the controller has done since it started; metrics and tests read it. */
export class Counters {
  /** Requests that write children, by what they were and what became of them: `apply done`. */
  readonly writes = new Counts(
    OPERATIONS.flatMap(kind => OUTCOMES.map(outcome => `${kind} ${outcome}`)),
  )
  /** Applies by why they were needed. */
  readonly drift = new Counts(CAUSES)
  /** Status writes by what became of them. */
  readonly statuses = new Counts(RESULTS)
  /** Reconciles by what became of them. */
  readonly reconciles = new Counts(RESULTS)
  /** Of reconciles, in seconds. */
  readonly durations = new Histogram(DURATION_BOUNDS)
}
