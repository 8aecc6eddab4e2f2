// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'

/** At most this many nodes may be of interest at one time. */
export const MAX_INTEREST = 32
/** Interest that is not repeated ends after this; a wrapper asks every ten seconds, so one lost request does not matter. */
const INTEREST_MS = 60_000

/**
 * Nodes that programs of this node depend on. In a zone of rings an agent probes only a few members. It probes these as
 * well, to notice a link that is broken only between the two nodes.
 */
export class Interest {
  readonly #clock: Clock
  readonly #until = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A program asks about these. Beyond the limit the newest question wins. @returns whether `names` changed. */
  ask(names: readonly string[]): boolean {
    const before = this.names.join()
    for (const name of names.slice(0, MAX_INTEREST)) {
      this.#until.delete(name)
      this.#until.set(name, this.#clock.now() + INTEREST_MS)
    }
    for (const oldest of this.#until.keys()) {
      if (this.#until.size <= MAX_INTEREST) break
      this.#until.delete(oldest)
    }
    return this.names.join() !== before
  }

  /** Forget what was not asked again. @returns whether `names` changed. */
  expire(): boolean {
    const { size } = this.#until
    for (const [name, until] of this.#until)
      if (this.#clock.now() >= until) this.#until.delete(name)
    return this.#until.size !== size
  }

  /** In a fixed order. */
  get names(): readonly string[] {
    return [...this.#until.keys()].sort()
  }
}
