// SPDX-License-Identifier: Apache-2.0

/** The counter of served versions: one for all resources, so that any version tells how much a client has seen of each. */
export interface Versions {
  readonly newest: number
  /** One more. */
  next(): number
}

/**
 * Our versions begin here: the year 2005 in microseconds. The apiserver counts writes from 1 and would take 3 500 years at
 * ten thousand a second to get here, so a number shows whether it is ours.
 */
const LOWEST = 2 ** 50
/** The year 2112 in microseconds: a wrong clock must leave room to count. */
const HIGHEST_START = 2 ** 52

/**
 * @param wall the machine's clock, epoch ms: a new process begins above every earlier one, unless the clock went
 * back
 * @param last the highest version that an earlier process may have served; 0 when unknown
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

/** Whether a version is one of ours, of this process or an earlier one; all others are the apiserver's. */
export const isOurs = (version: number): boolean => version >= LOWEST
