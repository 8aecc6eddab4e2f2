// SPDX-License-Identifier: Apache-2.0
import { allOf } from '../../core/all-of.js'
import { Counts, pairsOf } from '../../core/counts.js'
import { Histogram } from '../../net/metrics-text.js'
import { reviewPaths, type ReviewPath } from '../model/decide.js'
import type { Decision, Unchanged } from '../model/decision.js'

/** Seconds; the apiserver's time limit is two. */
const DURATION_BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.2, 1, 2]

/** The outcome of a review. `failed`: a bug of ours; the write passes. */
type ReviewResult = Unchanged | Exclude<Decision['kind'], 'unchanged'> | 'failed'

const RESULTS = allOf<ReviewResult>({
  ...{ heard: true, marked: true, 'not-vouched': true, 'report-too-old': true, 'no-time': true },
  ...{ 'not-ours': true, 'other-writer': true, harmless: true },
  ...{ 'node-not-known': true, 'table-not-ready': true },
  ...{ changed: true, refused: true, failed: true },
})

/** HTTP statuses of requests that are not reviews; 500 is a bug of ours. */
export type RefusalStatus = 400 | 404 | 405 | 413 | 415 | 500 | 503

const REFUSALS = allOf<`${RefusalStatus}`>({
  ...{ 400: true, 404: true, 405: true, 413: true, 415: true, 500: true, 503: true },
})

/** Counters since the start, for metrics and status. */
export class ReviewCounters {
  /** Reviews by path and outcome: `/node-taint changed`, `/node-taint heard`. */
  readonly reviews = new Counts(pairsOf(reviewPaths, RESULTS))
  /** Requests that are not reviews, by HTTP status. */
  readonly refusals = new Counts(REFUSALS)
  /** Durations of reviews, in seconds. */
  readonly durations = new Histogram(DURATION_BOUNDS)

  decided(path: ReviewPath, decision: Decision): void {
    this.reviews.add(`${path} ${decision.kind === 'unchanged' ? decision.why : decision.kind}`)
  }

  failed(path: ReviewPath): void {
    this.reviews.add(`${path} failed`)
  }

  refused(status: RefusalStatus): void {
    this.refusals.add(`${status}`)
  }
}
