// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { Decision } from '../model/decide.js'

/** How long this process watches a unit that it sees gone for the first time, whatever is noted on its children. */
const WATCHED_MS = 60_000
/** Units that disappeared within this time of each other count as gone at the same time. */
const AT_ONCE_MS = 3_600_000

type Gone = Pick<Decision, 'gone' | 'hold' | 'agreed'>

/**
 * The units of a grid that this process itself has seen disappear. Times noted on children are not enough: they may be from
 * another clock, or from before a period in which no process watched. After a hold that ended without a confirmation, the
 * grace period starts again, since nodes come back one after the other.
 */
export class GoneUnits {
  readonly #clock: Clock
  /** Clock.now from which on children of a unit may go. */
  readonly #notBefore = new Map<string, number>()
  readonly #removed = new Map<string, number>()
  #agreed: Decision['agreed']
  #isHeld: boolean | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Units whose children were deleted lately. */
  get removed(): ReadonlySet<string> {
    const now = this.#clock.now()
    for (const [unit, at] of this.#removed) if (now - at > AT_ONCE_MS) this.#removed.delete(unit)
    return new Set(this.#removed.keys())
  }

  /** The units that the grid's confirmation named when it was first read. */
  get agreed(): Decision['agreed'] {
    return this.#agreed
  }

  /** @param saysHeld whether the grid's status says that it is held, which another process may have written */
  look({ gone, hold, agreed }: Gone, graceMs: number, saysHeld: boolean): void {
    const now = this.#clock.now()
    const isHeldOrWas = hold !== undefined || (this.#isHeld ?? saysHeld)
    this.#isHeld = hold !== undefined
    if (agreed !== undefined) this.#agreed = agreed
    for (const unit of this.#notBefore.keys())
      if (!gone.includes(unit)) this.#notBefore.delete(unit)
    for (const unit of gone)
      if (isHeldOrWas) this.#notBefore.set(unit, now + graceMs)
      else if (!this.#notBefore.has(unit))
        this.#notBefore.set(unit, now + Math.min(graceMs, WATCHED_MS))
  }

  /** How long a unit's children must stay yet. */
  leftMs(unit: string, { agreed }: Gone): number {
    if (agreed !== undefined) return 0
    return Math.max(0, (this.#notBefore.get(unit) ?? Infinity) - this.#clock.now())
  }

  went(unit: string): void {
    this.#removed.set(unit, this.#clock.now())
    this.#notBefore.delete(unit)
  }
}
