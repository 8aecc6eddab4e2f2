// SPDX-License-Identifier: Apache-2.0

/**
 * Counts what is served. One counter for all resources, so that any served version tells how far a client has come in
 * each of them.
 */
export interface Versions {
  readonly newest: number
  /** One more. */
  next(): number
}

/**
 * Ours begin here: microseconds of the year 2005. Upstream counts writes from 1, and would have to take ten thousand a
 * second for 3 500 years to get here, so that a number tells whose it is.
 */
const LOWEST = 2 ** 50
/** The year 2112 in microseconds. A clock that is wrong must leave room to count. */
const HIGHEST_START = 2 ** 52

/**
 * @param wall the machine's clock, epoch ms: a new life begins above every earlier one, unless the clock went back
 * @param last the highest version that an earlier life is known to have served; 0 when nothing is known
 */
export const makeVersions = (wall: number, last = 0): Versions => {
  const start = Math.min(Math.max(Math.floor(wall * 1_000), LOWEST), HIGHEST_START)
  let newest = Math.max(start, last + 1)
  return {
    get newest() {
      return newest
    },
    next: () => ++newest,
  }
}

/** Whether a version is one of ours, of this life or an earlier one; all others are upstream's. */
export const isOurs = (version: number): boolean => version >= LOWEST
