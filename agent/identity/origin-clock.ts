// SPDX-License-Identifier: Apache-2.0

/** How much faster or slower one clock may run than another: 1 ms per second. */
const DRIFT = 0.001
/** A single moment may come from a message that was long under way: only comparing it with another one tells its age. */
const ENOUGH_MOMENTS = 2

/**
 * Converts times of one node's clock, which its links prove, to our clock. The two clocks need not agree, only run at
 * nearly the same speed. A record that was held back on its way still gets its true age. Until the node has proved two
 * different times, the age that a relay reports is used; a later report never makes the record younger.
 */
export class OriginClock {
  /** Our time minus the node's, in milliseconds: the least seen so far, since nothing arrives before it was sent. */
  #offset = Infinity
  #offsetAt = 0
  #newest = -Infinity
  #moments = 0
  #byRelay: number | undefined

  /** At `now` the node showed something that it keeps secret until `time`, in milliseconds of its clock. */
  prove(time: number, now: number): void {
    // A statement and a link of a later slot may come in one message: that is one moment.
    const isSameMoment = this.#moments > 0 && now === this.#offsetAt
    const offset = this.#offsetNow(now)
    const arrived = now - time
    this.#offset = arrived < offset ? arrived : offset
    this.#offsetAt = now
    if (time <= this.#newest) return
    this.#newest = time
    if (!isSameMoment) this.#moments++
  }

  /**
   * @param time milliseconds of the node's clock, not before the newest that it proved
   * @param relayedAge milliseconds, as a relay reports; Infinity when it reports none
   * @returns when that was, by `Clock.now` here, at most `now`
   */
  madeAt(time: number, now: number, relayedAge: number): number {
    if (this.#moments >= ENOUGH_MOMENTS) return Math.min(now, this.#offsetNow(now) + time)
    this.#byRelay ??= now - Math.max(0, relayedAge)
    return this.#byRelay
  }

  #offsetNow(now: number): number {
    // Mostly `prove` was called in this very instant.
    return now === this.#offsetAt ? this.#offset : this.#offset + (now - this.#offsetAt) * DRIFT
  }
}
