// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../core/random.js'

const FIRST_MS = 500
const LONGEST_MS = 30_000

/** How long to wait after attempts that failed: 0.5 s, doubled each time, up to a longest wait. */
export class Backoff {
  readonly #random: Random
  readonly #longestMs: number
  #hasExpired = false
  /** Attempts in a row that failed, or have not yet proved to be a success. */
  failures = 0

  constructor(random: Random, longestMs = LONGEST_MS) {
    this.#random = random
    this.#longestMs = longestMs
  }

  succeeded(): void {
    this.failures = 0
    this.#hasExpired = false
  }

  /** After a long outage the first answer is usually a 410. The server is back, so list soon; this holds only once. */
  expired(): void {
    if (this.#hasExpired) return
    this.#hasExpired = true
    this.failures = 1
  }

  /** 0.7 … 1 of the nominal wait, so that agents which lost the same server do not come back together. */
  waitMs(): number {
    const doublings = Math.min(10, Math.max(0, this.failures - 1))
    const share = 0.7 + (0.3 * this.#random.below(1_001)) / 1_000
    return Math.min(this.#longestMs, FIRST_MS * 2 ** doublings) * share
  }
}
