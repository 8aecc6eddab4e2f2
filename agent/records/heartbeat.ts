// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

/** Largest heartbeat that is sent or believed: the end of 32 bits is kept free, so that nothing ever wraps. */
export const MAX_HEARTBEAT = 0xffff_fff0

/**
 * No clock, disk or message of others raises a heartbeat above this, the year 2072: from there an agent only counts, and has
 * room for years. So nobody can use up an agent's numbers by sending a larger one in its name.
 */
export const LEAP_MAX = 0xc000_0000

/** A restart begins this far above what was saved. */
const RESTART_STEP = 16
/** How far ahead of the present heartbeat one save reaches. */
const RESERVE = 48
const SAVE_EVERY_MS = 30_000

/**
 * The counter that orders one node's records. It follows Unix seconds, so that a node that lost its disk is soon
 * ahead of its own past, but it never goes back: what is saved is a heartbeat that will not be reached before the
 * next save, so a restart with the clock set back still begins above everything that was sent. Where even that
 * fails, `refute` jumps over what others remember. None of the three leads above LEAP_MAX.
 */
export class Heartbeat {
  #value: number
  #saved: number
  #savedAt: number
  readonly #clock: Clock
  readonly #save: (heartbeat: number) => void
  /** Unix seconds when `Clock.now` was 0, as believed at start; later steps of the wall clock do not matter. */
  readonly #base: number

  /** @param saved the value last passed to `save`; undefined when nothing is known. */
  constructor(clock: Clock, saved: number | undefined, save: (heartbeat: number) => void) {
    this.#clock = clock
    this.#save = save
    this.#base = (clock.wall() - clock.now()) / 1000
    const floor = saved === undefined || saved > LEAP_MAX ? 1 : saved + RESTART_STEP
    this.#value = Math.max(floor, this.#seconds())
    this.#saved = this.#value + RESERVE
    this.#savedAt = clock.now()
    save(this.#saved)
  }

  get value(): number {
    return this.#value
  }

  #seconds(): number {
    const seconds = Math.floor(this.#base + this.#clock.now() / 1000)
    return seconds > LEAP_MAX ? 0 : seconds
  }

  next(): number {
    this.#moveTo(Math.max(this.#value + 1, this.#seconds()))
    return this.#value
  }

  /**
   * A peer has a record in our name that is not older than ours: become newer. A number that no run of ours can have
   * reached is forged and not followed: it stops counting when its record expires.
   */
  refute(seen: number): void {
    if (seen >= this.#value && seen < LEAP_MAX) this.#moveTo(seen + 1)
  }

  #moveTo(value: number): void {
    this.#value = Math.min(MAX_HEARTBEAT, value)
    const now = this.#clock.now()
    if (this.#value < this.#saved || now - this.#savedAt < SAVE_EVERY_MS) return
    this.#saved = this.#value + RESERVE
    this.#savedAt = now
    this.#save(this.#saved)
  }
}
