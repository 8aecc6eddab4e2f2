// SPDX-License-Identifier: Apache-2.0
import { allOf } from '../../core/all-of.js'
import { Counts, pairsOf } from '../../core/counts.js'
import { Histogram } from '../../net/metrics-text.js'
import { reviewPaths, type ReviewPath } from '../model/decide.js'
import type { Decision, Unchanged } from '../model/decision.js'

/** Seconds; the apiserver waits for two. */
const DURATION_BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.2, 1, 2]

/** What becomes of a review. `failed`: by a mistake of ours; the write passes. */
type ReviewResult = Unchanged | Exclude<Decision['kind'], 'unchanged'> | 'failed'

const RESULTS = allOf<ReviewResult>({
  ...{ heard: true, marked: true, 'not-vouched': true, 'word-not-fresh': true, 'no-time': true },
  ...{ 'not-ours': true, 'other-writer': true, harmless: true },
  ...{ 'node-not-known': true, 'table-not-ready': true },
  ...{ changed: true, refused: true, failed: true },
})

/** The HTTP status of a request that is no review; 500 is a mistake of ours. */
export type RefusalStatus = 400 | 404 | 405 | 413 | 415 | 500 | 503

const REFUSALS = allOf<`${RefusalStatus}`>({
  ...{ 400: true, 404: true, 405: true, 413: true, 415: true, 500: true, 503: true },
})

/** What was asked and answered since the start; metrics and status read it. */
export class ReviewCounters {
  /** Reviews by path, and what became of the write: `/node-taint changed`, `/node-taint heard`. */
  readonly reviews = new Counts(pairsOf(reviewPaths, RESULTS))
  /** Requests that were no review, by HTTP status. */
  readonly refusals = new Counts(REFUSALS)
  /** Of answers, in seconds. */
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
