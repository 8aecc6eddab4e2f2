// SPDX-License-Identifier: Apache-2.0

/**
 * Token buckets in a fixed number of columns: one per member, and one that all strangers share, so that whoever
 * invents addresses gains neither memory nor speed.
 */
export class RateLimit {
  readonly #perSecond: number
  readonly #burst: number
  readonly #tokens: Float64Array
  readonly #at: Float64Array

  constructor(size: number, perSecond: number, burst: number) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = new Float64Array(size + 1).fill(burst)
    this.#at = new Float64Array(size + 1)
  }

  /** Take one token. @param index a member; undefined for a stranger. @returns false when there is none. */
  take(index: number | undefined, now: number): boolean {
    const place = index ?? this.#tokens.length - 1
    const since = Math.max(0, now - this.#at[place]!)
    const tokens = Math.min(this.#burst, this.#tokens[place]! + (since * this.#perSecond) / 1000)
    this.#at[place] = now
    this.#tokens[place] = tokens < 1 ? tokens : tokens - 1
    return tokens >= 1
  }
}
