// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'

/** One moment by three clocks: some stand still while the machine sleeps, others while it is paused. */
export interface Instant {
  readonly now: number
  readonly boot: number
  readonly wall: number
}

export const instantOf = (clock: Clock): Instant => ({
  now: clock.now(),
  boot: clock.boot(),
  wall: clock.wall(),
})

/** Milliseconds since `from` by the clock that shows most: never too few, too many where the wall clock was set forward. */
export const elapsedMs = (from: Instant, clock: Clock): number => {
  const { now, boot, wall } = instantOf(clock)
  return Math.max(now - from.now, boot - from.boot, wall - from.wall)
}
