// SPDX-License-Identifier: Apache-2.0
import type { Topology } from './topology.js'

/** Who watches whom since the last change of the roster only. */
export interface YoungWatches {
  /** A record made at `producedAt` says nothing about the target unless it says that it is down. */
  has(observer: number, target: number, producedAt: number): boolean
}

/** The roster before: what of it matters here. */
interface Before {
  readonly topology: Topology
  hasLooked(observer: number, target: number): boolean
}

/**
 * Note which watches are new. Until the observer has had the time for a first round its silence about the target means
 * nothing: a node that is down must not be cleared because others begin to watch it.
 * @param oldIndexOf where each member stood before; −1 for a new one.
 * @param settledAt `Clock.now` from which on all records are from after their first rounds.
 * @returns undefined when there are none.
 */
export const youngWatches = (
  topology: Topology,
  before: Before,
  oldIndexOf: readonly number[],
  settledAt: number,
): YoungWatches | undefined => {
  const isKnown = (observer: number, target: number): boolean => {
    const [from, to] = [oldIndexOf[observer]!, oldIndexOf[target]!]
    // Who was not in the last roster begins to look at everybody, and says itself when it is done.
    if (from < 0) return true
    return to >= 0 && before.topology.slotOf(from, to) >= 0 && before.hasLooked(from, to)
  }
  const young = new Map<number, Set<number>>()
  for (let observer = 0; observer < topology.size; observer++) {
    const targets = Array.from(topology.targetsOf(observer))
    const fresh = targets.filter(target => !isKnown(observer, target))
    if (fresh.length > 0) young.set(observer, new Set(fresh))
  }
  if (young.size === 0) return undefined
  return {
    has: (observer, target, producedAt) =>
      producedAt < settledAt && young.get(observer)?.has(target) === true,
  }
}
