// SPDX-License-Identifier: Apache-2.0
import { id64 } from '../../core/ids.js'
import type { Roster } from '../../core/roster.js'
import { meshTopology } from './mesh.js'
import type { MakeTopology, Topology } from './topology.js'

const NOBODY = 0xffff

/** Roster indices in the order of one ring: by a hash of ring and name, so that rings are independent of each other. */
const ringOrder = (roster: Roster, ring: number): Uint16Array => {
  const keys = BigUint64Array.from(roster.members, ({ name }) => id64(`${ring}:${name}`))
  return Uint16Array.from(keys.keys()).sort((a, b) => (keys[a]! < keys[b]! ? -1 : 1))
}

/**
 * On each ring everybody takes the next member that it does not have yet. `columns` slots per member from `first` on
 * are filled; where nobody is left they stay NOBODY.
 */
const takeSuccessors = (
  rings: readonly Uint16Array[],
  slots: Uint16Array,
  columns: number,
  first: number,
): void => {
  rings.forEach((order, ring) => {
    const size = order.length
    for (let place = 0; place < size; place++) {
      const row = order[place]! * columns
      const has = slots.subarray(row, row + first + ring)
      for (let step = 1; step < size; step++) {
        const next = order[(place + step) % size]!
        if (has.includes(next)) continue
        slots[row + first + ring] = next
        break
      }
    }
  })
}

/** Each member's list of those that have it in one of these columns: the way back. */
const invert = (
  slots: Uint16Array,
  columns: number,
  { from, to }: { readonly from: number; readonly to: number },
): readonly Uint16Array[] => {
  const lists: number[][] = Array.from({ length: slots.length / columns }, () => [])
  for (let at = 0; at < slots.length; at++) {
    const column = at % columns
    if (column < from || column >= to || slots[at] === NOBODY) continue
    lists[slots[at]!]!.push((at - column) / columns)
  }
  return lists.map(list => Uint16Array.from(list))
}

/**
 * k rings: on each one a member watches the next one that it does not watch yet. So everybody has k targets and about k
 * observers, which only a failure of the whole zone takes away together, and one member more or less changes some 2k
 * watches. The k members next in line are its backup observers.
 */
export const kringTopology = (roster: Roster, k: number): Topology => {
  const size = roster.members.length
  const rings = Array.from({ length: k }, (_, ring) => ringOrder(roster, ring))
  const columns = 2 * k
  const slots = new Uint16Array(size * columns).fill(NOBODY)
  takeSuccessors(rings, slots, columns, 0)
  takeSuccessors(rings, slots, columns, k)
  const observers = invert(slots, columns, { from: 0, to: k })
  const backups = invert(slots, columns, { from: k, to: columns })
  const neighbours: (Uint16Array | undefined)[] = []

  const listOf = (observer: number, from: number): Uint16Array => {
    const row = slots.subarray(observer * columns + from, observer * columns + from + k)
    const end = row.indexOf(NOBODY)
    return end < 0 ? row : row.subarray(0, end)
  }
  const find = (observer: number, target: number, from: number): number => {
    const start = observer * columns
    for (let slot = from; slot < from + k; slot++) if (slots[start + slot] === target) return slot
    return -1
  }
  return {
    kind: 'kring',
    size,
    slots: columns,
    backupSlots: k,
    observersOf: target => observers[target]!,
    targetsOf: observer => listOf(observer, 0),
    backupsOf: target => backups[target]!,
    backupTargetsOf: observer => listOf(observer, k),
    gossipNeighbours: self =>
      (neighbours[self] ??= Uint16Array.from(new Set([...listOf(self, 0), ...observers[self]!]))),
    slotOf: (observer, target) => find(observer, target, 0),
    backupSlotOf: (observer, target) => find(observer, target, k),
    targetAt: (observer, slot) => {
      const target = slots[observer * columns + slot]!
      return target === NOBODY ? -1 : target
    },
  }
}

/** Everybody watches everybody while the zone is small, and k rings from there on. */
export const topologyFor =
  (options: { readonly meshMax: number; readonly ringObservers: number }): MakeTopology =>
  roster =>
    roster.members.length <= options.meshMax
      ? meshTopology(roster.members.length)
      : kringTopology(roster, options.ringObservers)
