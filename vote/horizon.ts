// SPDX-License-Identifier: Apache-2.0

/**
 * Collects the next instant at which time alone may change a decision, so that the caller can sleep until then.
 * Every rule compares with `now >= instant`, the same number that it reports here: who wakes then finds it passed.
 */
export interface Horizon {
  readonly now: number
  nextAt: number
}

export const makeHorizon = (now: number): Horizon => ({ now, nextAt: Infinity })

/** Remember `at` if it still lies ahead and is the earliest so far. */
export const expectAt = (horizon: Horizon, at: number): void => {
  if (at > horizon.now && at < horizon.nextAt) horizon.nextAt = at
}
