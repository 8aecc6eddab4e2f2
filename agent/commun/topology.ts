// SPDX-License-Identifier: Apache-2.0

/**
 * Who probes whom, and how a record says it. A member is its roster index. A record carries one bit for each of its
 * origin's `slots`; which member a slot means is the topology's business, so that nothing else has to know it.
 */
export interface Topology {
  /** Part of the membership hash, so that two agents that disagree never read each other's bits by place. */
  readonly kind: 'mesh' | 'kring'
  readonly size: number
  /** Bits in one record. */
  readonly slots: number
  /** The members that probe `target`; never `target` itself. */
  observersOf(target: number): Uint16Array
  /** The members that `observer` probes. */
  targetsOf(observer: number): Uint16Array
  /** With whom `self` exchanges most of the time. */
  gossipNeighbours(self: number): Uint16Array
  /** The slot in which `observer` speaks of `target`; −1 when it does not probe it. */
  slotOf(observer: number, target: number): number
  /** The member that this slot of `observer` speaks of; −1 when nobody. */
  targetAt(observer: number, slot: number): number
}

/** Builds the topology for a zone of `size` members. */
export type MakeTopology = (size: number) => Topology
