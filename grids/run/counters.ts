// SPDX-License-Identifier: Apache-2.0
import type { WorkResult } from '../../controller/work-queue.js'
import { allOf } from '../../core/all-of.js'
import { Counts, pairsOf } from '../../core/counts.js'
import { Histogram } from '../../net/metrics-text.js'
import type { Operation } from '../model/decide.js'
import type { DriftCause } from '../model/drift.js'
import type { Outcome } from './outcome.js'

/** Seconds: from a grid without differences to thousands of applies. */
const DURATION_BOUNDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60]

const OPERATIONS = allOf<Operation['kind'] | 'dry-run'>({
  ...{ apply: true, delete: true, mark: true, 'dry-run': true },
})
const OUTCOMES = allOf<Outcome['kind']>({
  ...{ done: true, refused: true, stale: true, withheld: true, unavailable: true },
})
const CAUSES = allOf<DriftCause | 'missing' | 'taken-over'>({
  ...{ missing: true, 'taken-over': true },
  ...{ 'never-applied': true, 'not-ours': true, 'not-wanted': true, changed: true },
})
const RESULTS = allOf<WorkResult['kind']>({ done: true, failed: true })

/** Counters since the start, for metrics. */
export class Counters {
  /** Write requests for children, by operation and outcome: `apply done`. */
  readonly writes = new Counts(pairsOf(OPERATIONS, OUTCOMES))
  /** Applies by reason. */
  readonly drift = new Counts(CAUSES)
  /** Status writes by outcome. */
  readonly statuses = new Counts(RESULTS)
  /** Reconciliations by outcome. */
  readonly reconciles = new Counts(RESULTS)
  /** Of reconciles, in seconds. */
  readonly durations = new Histogram(DURATION_BOUNDS)
}
