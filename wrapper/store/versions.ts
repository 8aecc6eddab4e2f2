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
 * @param wall the machine's clock, epoch ms: a new life begins above every earlier one, unless the clock went back
 * @param last the highest version that an earlier life is known to have served; 0 when nothing is known
 */
export const makeVersions = (wall: number, last = 0): Versions => {
  let newest = Math.max(Math.floor(wall * 1_000), last + 1)
  return {
    get newest() {
      return newest
    },
    next: () => ++newest,
  }
}
