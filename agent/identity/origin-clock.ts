// SPDX-License-Identifier: Apache-2.0

/** How much faster or slower one clock may run than another: 1 ms per second. */
const DRIFT = 0.001
/** With what came at one moment there is nothing to compare it with: it may have been on its way for long. */
const ENOUGH_MOMENTS = 2

/**
 * When records of one node were made, in the time of our own clock, reckoned from what that node proves of its own.
 * What a relay says of an age is believed only until then, and never makes a record younger than it was at first. No
 * two clocks are compared, only how fast they go: a record that was held back is as old as it is, whoever held it.
 */
export class OriginClock {
  /** Our time minus the node's, in ms: the least that was seen, since nothing arrives before it was sent. */
  #offset = Infinity
  #offsetAt = 0
  #newest = -Infinity
  #moments = 0
  #byRelay: number | undefined

  /** The node lived at `time` (ms of its clock): it showed at `now` what it shows from then on only. */
  prove(time: number, now: number): void {
    // A statement and the link of a later slot come together.
    const isSameMoment = this.#moments > 0 && now === this.#offsetAt
    this.#offset = Math.min(this.#offsetNow(now), now - time)
    this.#offsetAt = now
    if (time <= this.#newest) return
    this.#newest = time
    if (!isSameMoment) this.#moments++
  }

  /**
   * @param time ms of the node's clock, at or after the newest that it proved
   * @param relayedAge ms, as a relay says; Infinity when it says nothing
   * @returns when it was made, at most `now`
   */
  madeAt(time: number, now: number, relayedAge: number): number {
    if (this.#moments >= ENOUGH_MOMENTS) return Math.min(now, this.#offsetNow(now) + time)
    this.#byRelay ??= now - Math.max(0, relayedAge)
    return this.#byRelay
  }

  #offsetNow(now: number): number {
    return this.#offset + (now - this.#offsetAt) * DRIFT
  }
}
