// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../core/roster.js'

/**
 * Who probes whom, and how a record says it. A member is its roster index. A record carries one bit for each of its
 * origin's `slots`; which member a slot means is the topology's business, so that nothing else has to know it.
 */
export interface Topology {
  /** Part of the membership hash, so that two agents that disagree never read each other's bits by place. */
  readonly kind: 'mesh' | 'kring'
  readonly size: number
  /** Members that one record can speak of. */
  readonly slots: number
  /** How many slots, the last ones, are those of backup observers; each has a second bit that says that it is at work. */
  readonly backupSlots: number
  /** The members that probe `target`; never `target` itself. */
  observersOf(target: number): Uint16Array
  /** The members that `observer` probes. */
  targetsOf(observer: number): Uint16Array
  /** Who probes `target` too once too few of its observers are left; none of them is an observer. */
  backupsOf(target: number): Uint16Array
  /** The members that `observer` may have to stand in for. */
  backupTargetsOf(observer: number): Uint16Array
  /** The members with which `self` exchanges most of the time. */
  gossipNeighbours(self: number): Uint16Array
  /** The slot in which `observer` speaks of `target`; −1 when it does not probe it. */
  slotOf(observer: number, target: number): number
  /** The slot in which `observer` speaks of `target` as a backup observer; −1 when it is none. */
  backupSlotOf(observer: number, target: number): number
  /** The member that this slot of `observer` speaks of; −1 when nobody. */
  targetAt(observer: number, slot: number): number
}

/** Builds the topology of a zone: the same on all agents that have the same members. */
export type MakeTopology = (roster: Roster) => Topology
