// SPDX-License-Identifier: Apache-2.0

/** Tokens that come back with time. */
export interface Rate {
  readonly perSecond: number
  /** How many there are at most, and at first. */
  readonly burst: number
}

/** One bucket, for limits that each peer has of its own. */
export class TokenBucket {
  readonly #rate: Rate
  #tokens: number
  #at = 0

  /** @param rate kept by reference: buckets of one kind share it, and its burst may change */
  constructor(rate: Rate) {
    this.#rate = rate
    this.#tokens = rate.burst
  }

  /**
   * Take tokens, all of them or none.
   * @param cost how many, at most the burst. @default 1
   * @param reserve how many must be left. @default 0
   * @returns false when there are fewer.
   */
  take(now: number, cost = 1, reserve = 0): boolean {
    // Many are taken in the same instant, for what one message brought.
    if (now !== this.#at) {
      this.#tokens = refilled(this.#rate, this.#tokens, now - this.#at)
      this.#at = now
    }
    if (this.#tokens < cost + reserve) return false
    this.#tokens -= cost
    return true
  }

  /** Return tokens that were taken at this moment and not used. */
  giveBack(cost: number): void {
    this.#tokens += cost
  }

  /** Go into debt: this many tokens must come back before others can be taken. */
  owe(cost: number): void {
    this.#tokens -= cost
  }
}

const refilled = ({ perSecond, burst }: Rate, tokens: number, ms: number): number =>
  Math.min(burst, tokens + (Math.max(0, ms) * perSecond) / 1000)

/** A bucket for each member, and one that all strangers share: inventing addresses gains an attacker nothing. */
export class RateLimit {
  readonly #rate: Rate
  readonly #tokens: Float64Array
  readonly #at: Float64Array

  constructor(size: number, rate: Rate) {
    this.#rate = rate
    this.#tokens = new Float64Array(size + 1).fill(rate.burst)
    this.#at = new Float64Array(size + 1)
  }

  /**
   * As in `TokenBucket`.
   * @param index a member; undefined for a stranger
   */
  take(index: number | undefined, now: number, cost = 1): boolean {
    const place = index ?? this.#tokens.length - 1
    const tokens = refilled(this.#rate, this.#tokens[place]!, now - this.#at[place]!)
    this.#at[place] = now
    this.#tokens[place] = tokens < cost ? tokens : tokens - cost
    return tokens >= cost
  }
}
