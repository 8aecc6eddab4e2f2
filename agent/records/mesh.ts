// SPDX-License-Identifier: Apache-2.0
import type { Topology } from './topology.js'

const NONE = new Uint16Array(0)

/** Everybody probes everybody else; a record has one bit per member, the own bit stays 0. */
export const meshTopology = (size: number): Topology => {
  // Made when first asked for and kept: the judge asks on every evaluation.
  const lists: (Uint16Array | undefined)[] = []
  const othersOf = (index: number): Uint16Array => {
    const known = lists[index]
    if (known !== undefined) return known
    const others = new Uint16Array(Math.max(0, size - 1))
    for (let i = 0; i < others.length; i++) others[i] = i < index ? i : i + 1
    lists[index] = others
    return others
  }
  const other = (a: number, b: number): number => (a === b || b < 0 || b >= size ? -1 : b)
  return {
    kind: 'mesh',
    size,
    slots: size,
    backupSlots: 0,
    observersOf: othersOf,
    targetsOf: othersOf,
    backupsOf: () => NONE,
    backupTargetsOf: () => NONE,
    gossipNeighbours: othersOf,
    slotOf: other,
    backupSlotOf: () => -1,
    targetAt: other,
  }
}
