// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'

/** At most this many nodes may be of interest at one time. */
export const MAX_INTEREST = 32
/** Interest that is not repeated ends after this; a wrapper asks every ten seconds, so one lost request does not matter. */
const INTEREST_MS = 60_000

interface Asked {
  readonly until: number
  /** By root or our own user, as the wrapper is. */
  readonly isTrusted: boolean
}

/**
 * Nodes that programs of this node depend on. In a zone of rings an agent probes only a few members. It probes these as
 * well, to notice a link that is broken only between the two nodes.
 */
export class Interest {
  readonly #clock: Clock
  readonly #asked = new Map<string, Asked>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * A program asks about these. Beyond the limit the newest question wins, but what a trusted program asks never makes way
   * for others.
   * @returns whether `names` changed
   */
  ask(names: readonly string[], isTrusted: boolean): boolean {
    const before = this.names.join()
    for (const name of names.slice(0, MAX_INTEREST)) {
      if (!isTrusted && this.#asked.get(name)?.isTrusted === true) continue
      this.#asked.delete(name)
      this.#asked.set(name, { until: this.#clock.now() + INTEREST_MS, isTrusted })
    }
    for (const isKept of [false, true])
      for (const [oldest, asked] of this.#asked) {
        if (this.#asked.size <= MAX_INTEREST) break
        if (asked.isTrusted === isKept) this.#asked.delete(oldest)
      }
    return this.names.join() !== before
  }

  /** Forget what was not asked again. @returns whether `names` changed. */
  expire(): boolean {
    const { size } = this.#asked
    for (const [name, { until }] of this.#asked)
      if (this.#clock.now() >= until) this.#asked.delete(name)
    return this.#asked.size !== size
  }

  /** In a fixed order. */
  get names(): readonly string[] {
    return [...this.#asked.keys()].sort()
  }
}
