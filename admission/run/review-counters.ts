// SPDX-License-Identifier: Apache-2.0
import { Counts } from '../../core/counts.js'
import type { ReviewPath } from '../model/decide.js'
import type { Decision } from '../model/decision.js'

/** Upper bounds of the histogram of answers, in seconds; the apiserver waits for two. */
export const SECONDS_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.2, 1, 2] as const

/** What was asked and answered since the start; metrics and status read it. */
export class ReviewCounters {
  /** Reviews by path, and what became of the write: `/node-taint changed`, `/node-taint heard`. */
  readonly reviews = new Counts()
  /** Requests that were no review, by HTTP status. */
  readonly refusals = new Counts()
  readonly buckets: number[] = SECONDS_BUCKETS.map(() => 0)
  seconds = 0
  answered = 0

  decided(path: ReviewPath, decision: Decision): void {
    this.reviews.add(`${path} ${decision.kind === 'unchanged' ? decision.why : decision.kind}`)
  }

  failed(path: ReviewPath): void {
    this.reviews.add(`${path} failed`)
  }

  refused(status: number): void {
    this.refusals.add(String(status))
  }

  took(ms: number): void {
    const seconds = ms / 1_000
    this.seconds += seconds
    this.answered++
    for (const [at, bound] of SECONDS_BUCKETS.entries())
      if (seconds <= bound) this.buckets[at] = this.buckets[at]! + 1
  }
}
