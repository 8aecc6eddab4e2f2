// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

/** Instants of the monotonic clock as people read them. */
export interface Times {
  readonly now: number
  readonly wall: number
  /** ISO 8601 of an instant; null when it is infinite. */
  iso(at: number): string | null
  /** Seconds since; null when it never was. */
  age(at: number): number | null
  /** Seconds until; negative when it has passed, null when it never comes. */
  until(at: number): number | null
}

/** As of this moment. */
export const timesOf = (clock: Clock): Times => {
  const now = clock.now()
  const wall = clock.wall()
  return {
    now,
    wall,
    iso: at => (Number.isFinite(at) ? new Date(wall - (now - at)).toISOString() : null),
    age: at => (Number.isFinite(at) ? (now - at) / 1_000 : null),
    until: at => (Number.isFinite(at) ? (at - now) / 1_000 : null),
  }
}
