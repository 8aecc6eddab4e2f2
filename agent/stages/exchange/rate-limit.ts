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

  /**
   * Take tokens, all of them or none.
   * @param index a member; undefined for a stranger.
   * @param cost how many, at most the burst. @default 1
   * @returns false when there are fewer.
   */
  take(index: number | undefined, now: number, cost = 1): boolean {
    const place = index ?? this.#tokens.length - 1
    const since = Math.max(0, now - this.#at[place]!)
    const tokens = Math.min(this.#burst, this.#tokens[place]! + (since * this.#perSecond) / 1000)
    this.#at[place] = now
    this.#tokens[place] = tokens < cost ? tokens : tokens - cost
    return tokens >= cost
  }
}
