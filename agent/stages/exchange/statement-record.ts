// SPDX-License-Identifier: Apache-2.0
import { FLAG } from '../../../vote/evidence.js'
import type { KnownStatement } from '../../identity/entries.js'
import type { OwnContent } from '../../identity/own-statement.js'
import {
  heartbeatAt,
  QUARTER_MS,
  type ReceivedStatement,
  type Statement,
} from '../../identity/statement.js'
import { isSet, setBit } from '../../records/bits.js'
import type { RecordDraft } from '../../records/record-draft.js'
import type { News, RecordTable } from '../../records/table.js'

/** Whether the own node is at work as a backup observer. */
const isAtWork = ({ topology, bits, rowBytes, self }: RecordTable, target: number): boolean => {
  const slot = topology.backupSlotOf(self, target)
  return slot >= 0 && isSet(bits, self * rowBytes, slot + topology.backupSlots)
}

const idsOf = ({ roster }: RecordTable, targets: readonly number[]): readonly bigint[] =>
  // Members are in the order of their ids.
  targets.toSorted((a, b) => a - b).map(target => roster.members[target]!.id)

/** Another node's roster may have this many members that ours does not have yet. */
const UNKNOWN_NAMED = 256

/** Whether it names more nodes than the zone can have: passing it on would cost traffic that is of no use to the zone. */
export const isLong = (
  { size }: RecordTable,
  { down, notLooked, standsInFor }: Statement,
): boolean => down.length + notLooked.length + standsInFor.length > size + UNKNOWN_NAMED

/** What the own record says, with nodes by id. */
export const ownContent = (table: RecordTable): OwnContent => {
  const { self, topology, flags, cloudCutAt } = table
  const targets = [...topology.targetsOf(self)]
  const standsInFor =
    table.downCount[self] === 0
      ? []
      : [...topology.backupTargetsOf(self)].filter(target => isAtWork(table, target))
  const isDown = (target: number): boolean => table.saysDown(self, target)
  const down =
    table.downCount[self] === 0 ? [] : [...new Set([...targets, ...standsInFor])].filter(isDown)
  const notLooked =
    table.unlookedCount[self] === 0 ? [] : targets.filter(target => !table.hasLooked(self, target))
  return {
    flags: flags[self]!,
    cutAt: cloudCutAt[self]!,
    membershipHash: table.hash,
    down: idsOf(table, down),
    notLooked: idsOf(table, notLooked),
    standsInFor: idsOf(table, standsInFor),
  }
}

/** `Clock.now` when the member's cloud link was cut; −Infinity unless it says so. */
const cutAtOf = ({ flags, cutFor }: Statement, quarters: number, madeAt: number): number =>
  (flags & FLAG.cloudCut) === 0 ? -Infinity : madeAt - (quarters + cutFor) * QUARTER_MS

/**
 * Write a member's statement into a draft. Where the member has another roster or topology it may observe other nodes: a
 * node that it does not name stays "not looked" if it was, and its votes as a backup observer wait.
 */
const draftOf = (
  table: RecordTable,
  draft: RecordDraft,
  origin: number,
  { received: { statement }, progress, madeAt }: KnownStatement,
): RecordDraft => {
  const { topology, roster, rowBytes } = table
  const isSame = statement.membershipHash === table.hash
  draft.origin = origin
  draft.hb = heartbeatAt(statement, progress.quarters)
  draft.producedAt = madeAt
  draft.flags = statement.flags
  draft.cloudCutAt = cutAtOf(statement, progress.quarters, madeAt)
  draft.down.fill(0)
  if (isSame) draft.unlooked.fill(0)
  else draft.unlooked.set(table.unlooked.subarray(origin * rowBytes, (origin + 1) * rowBytes))
  const slotOf = (id: bigint): number => {
    const target = roster.indexOfId(id)
    if (target === undefined) return -1
    const slot = topology.slotOf(origin, target)
    return slot < 0 && isSame ? topology.backupSlotOf(origin, target) : slot
  }
  for (const id of statement.notLooked) {
    const slot = slotOf(id)
    if (slot >= 0) setBit(draft.unlooked, slot)
  }
  for (const id of statement.down) {
    const slot = slotOf(id)
    if (slot < 0) continue
    setBit(draft.down, slot)
    draft.unlooked[slot >> 3]! &= ~(1 << (slot & 7))
  }
  for (const id of isSame ? statement.standsInFor : []) {
    const target = roster.indexOfId(id)
    const slot = target === undefined ? -1 : topology.backupSlotOf(origin, target)
    if (slot >= 0) setBit(draft.down, slot + topology.backupSlots)
  }
  draft.anyDown = draft.down.some(byte => byte !== 0)
  draft.anyUnlooked = draft.unlooked.some(byte => byte !== 0)
  return draft
}

/** Copies members' statements into the records of one roster. */
export class StatementRecords {
  readonly #table: RecordTable
  readonly #draft: RecordDraft
  /** The statement that each member's row was written from, and the member's `RecordTable.replaced` after that. */
  readonly #written: (ReceivedStatement | undefined)[] = []
  readonly #replaced: Uint32Array

  constructor(table: RecordTable) {
    this.#table = table
    this.#draft = table.makeDraft()
    this.#replaced = new Uint32Array(table.size)
  }

  /** Copy a member's newest statement into its record. Most repeat what the record holds already. */
  copy(index: number, known: KnownStatement): News {
    const { received, progress, madeAt } = known
    const table = this.#table
    if (this.#written[index] === received && this.#replaced[index] === table.replaced[index]) {
      const { statement } = received
      const { quarters } = progress
      const cutAt = cutAtOf(statement, quarters, madeAt)
      return table.renewMember(index, heartbeatAt(statement, quarters), madeAt, cutAt)
    }
    const news = table.put(draftOf(table, this.#draft, index, known))
    this.#written[index] = received
    this.#replaced[index] = table.replaced[index]!
    return news
  }
}
