// SPDX-License-Identifier: Apache-2.0
import { Counts } from '../../core/counts.js'
import { Histogram } from '../../net/metrics-text.js'
import { reviewPaths, type ReviewPath } from '../model/decide.js'
import type { Decision, Unchanged } from '../model/decision.js'

/** Seconds; the apiserver waits for two. */
const DURATION_BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.2, 1, 2]

const UNCHANGED: readonly Unchanged[] = [
  ...(['heard', 'marked', 'not-vouched', 'word-not-fresh', 'no-time'] as const),
  ...(['not-ours', 'other-writer', 'harmless', 'node-not-known', 'table-not-ready'] as const),
]
const RESULTS = [...UNCHANGED, 'changed', 'refused', 'failed']

/** What was asked and answered since the start; metrics and status read it. */
export class ReviewCounters {
  /** Reviews by path, and what became of the write: `/node-taint changed`, `/node-taint heard`. */
  readonly reviews = new Counts(
    reviewPaths.flatMap(path => RESULTS.map(result => `${path} ${result}`)),
  )
  /** Requests that were no review, by HTTP status. */
  readonly refusals = new Counts(['400', '404', '405', '413', '415', '503'])
  /** Of answers, in seconds. */
  readonly durations = new Histogram(DURATION_BOUNDS)

  decided(path: ReviewPath, decision: Decision): void {
    this.reviews.add(`${path} ${decision.kind === 'unchanged' ? decision.why : decision.kind}`)
  }

  failed(path: ReviewPath): void {
    this.reviews.add(`${path} failed`)
  }

  refused(status: number): void {
    this.refusals.add(String(status))
  }
}
