// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'

/**
 * What may be asked of the next turn: to vote since a vote or the roster changed; to vote since records became younger;
 * to go over the writes alone. A turn that votes goes over the writes where the vote moved something.
 */
export type TurnReason = 'changed' | 'fresher' | 'writes'

/**
 * Vote, then write: once for all that changed while the event loop was busy, and never inside what changed it. A peer
 * that sends a record has its answer before that record is counted.
 */
export class TurnLoop {
  readonly #clock: Clock
  readonly #run: (reasons: ReadonlySet<TurnReason>) => void
  #reasons = new Set<TurnReason>()
  #cancel: (() => void) | undefined
  #isStopped = false

  /** @param run one turn; what it asks for itself is for the next one. */
  constructor(clock: Clock, run: (reasons: ReadonlySet<TurnReason>) => void) {
    this.#clock = clock
    this.#run = run
  }

  /** A turn is due, as soon as what runs now has ended. */
  ask(reason: TurnReason): void {
    if (this.#isStopped) return
    this.#reasons.add(reason)
    this.#cancel ??= this.#clock.after(0, () => this.#turn())
  }

  /** No turn begins after this. */
  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  #turn(): void {
    const reasons = this.#reasons
    this.#reasons = new Set()
    this.#cancel = undefined
    this.#run(reasons)
  }
}
