// SPDX-License-Identifier: Apache-2.0

/** Memory of how often a node fell: each fall adds one, and the sum decays with time. */
export interface Flaps {
  readonly penalty: number
  /** `Clock.now` at which the penalty was this large. */
  readonly at: number
}

const HALF_LIFE_MS = 300_000
const PENALTY_CAP = 6
const FREE_PENALTY = 1.7
const FIRST_HOLD_MS = 10_000
const LONGEST_HOLD_MS = 120_000

/** Nobody fell yet. */
export const NO_FLAPS: Flaps = Object.freeze({ penalty: 0, at: 0 })

const penaltyAt = ({ penalty, at }: Flaps, now: number): number =>
  penalty * 2 ** (-(now - at) / HALF_LIFE_MS)

/** The memory after one more fall at `now`. */
export const withFall = (flaps: Flaps, now: number): Flaps => ({
  penalty: Math.min(PENALTY_CAP, penaltyAt(flaps, now) + 1),
  at: now,
})

/** How long a node that answers again must go on doing so before it counts as up: 0 for a first fall, at most 120 s. */
export const holdMs = (flaps: Flaps, now: number): number => {
  const penalty = penaltyAt(flaps, now)
  if (penalty < FREE_PENALTY) return 0
  return Math.min(LONGEST_HOLD_MS, FIRST_HOLD_MS * 2 ** Math.floor(penalty - FREE_PENALTY))
}
