// SPDX-License-Identifier: Apache-2.0
import { eachBit, flipBit, isSet } from './bits.js'
import type { RecordDraft } from './record-draft.js'
import type { Topology } from './topology.js'

/** The votes of all members' records: a row of bits for each, and for each target the sum of those that say that it is down. */
export class VoteRows {
  readonly topology: Topology
  /** Bytes of one row of `bits`, and of one of `unlooked`. */
  readonly rowBytes: number
  /** Row i is the i-th member's record, one bit per slot; behind them, the backup observers' slots again: it is at work. */
  readonly bits: Uint8Array
  /** As `bits`: where a bit is set the record says neither up nor down. Backup observers have none: they work or do not. */
  readonly unlooked: Uint8Array
  /** How many bits each record has set; none of them without a down vote or a backup observer at work. */
  readonly downCount: Uint16Array
  /** How many members each record has not looked at, of those that its origin should watch. */
  readonly unlookedCount: Uint16Array
  /** As in `Evidence`. */
  readonly downVotes: Uint16Array
  /** Backup observers at work, by target; most have none. */
  readonly #backups = new Map<number, Set<number>>()

  /** Nobody has looked at anybody. */
  constructor(size: number, topology: Topology) {
    this.topology = topology
    this.rowBytes = (topology.slots + topology.backupSlots + 7) >> 3
    this.bits = new Uint8Array(size * this.rowBytes)
    this.unlooked = new Uint8Array(size * this.rowBytes)
    this.downCount = new Uint16Array(size)
    this.unlookedCount = new Uint16Array(size)
    this.downVotes = new Uint16Array(size)
    for (let origin = 0; origin < size; origin++)
      for (const target of topology.targetsOf(origin)) this.setUnlooked(origin, target, true)
  }

  observersOf(target: number): ArrayLike<number> {
    const observers = this.topology.observersOf(target)
    const backups = this.#backups.get(target)
    return backups === undefined ? observers : [...observers, ...backups]
  }

  /** The slot of a target that the observer watches, or stands in for; −1 without. */
  slotOf(observer: number, target: number): number {
    const slot = this.topology.slotOf(observer, target)
    return slot >= 0 ? slot : this.topology.backupSlotOf(observer, target)
  }

  isSet(origin: number, slot: number): boolean {
    return isSet(this.bits, origin * this.rowBytes, slot)
  }

  hasLooked(observer: number, target: number): boolean {
    if (this.unlookedCount[observer] === 0) return true
    const slot = this.topology.slotOf(observer, target)
    return slot < 0 || !isSet(this.unlooked, observer * this.rowBytes, slot)
  }

  /** Whether the draft's row is the one of its origin. */
  has(draft: RecordDraft): boolean {
    const start = draft.origin * this.rowBytes
    for (let byte = 0; byte < this.rowBytes; byte++) {
      if (this.bits[start + byte] !== (draft.anyDown ? draft.down[byte] : 0)) return false
      if (this.unlooked[start + byte] !== (draft.anyUnlooked ? draft.unlooked[byte] : 0))
        return false
    }
    return true
  }

  /** Replace a row; true when it differs. Bits that speak of nobody, or of the origin itself, are dropped. */
  setRow(draft: RecordDraft): boolean {
    const { origin, anyDown, down, anyUnlooked, unlooked } = draft
    const isPlain = !anyDown && !anyUnlooked
    if (isPlain && this.downCount[origin] === 0 && this.unlookedCount[origin] === 0) return false
    const start = origin * this.rowBytes
    let isChanged = false
    for (let byte = 0; byte < this.rowBytes; byte++) {
      const blind = anyUnlooked ? unlooked[byte]! : 0
      const lost = (anyDown ? down[byte]! : 0) & ~blind
      eachBit(this.unlooked[start + byte]! ^ blind, byte, slot => {
        if (this.#turnUnlooked(origin, slot)) isChanged = true
      })
      eachBit(this.bits[start + byte]! ^ lost, byte, slot => {
        if (this.#flipAt(origin, slot)) isChanged = true
      })
    }
    return isChanged
  }

  /** `target` is one that `origin` watches. */
  setUnlooked(origin: number, target: number, on: boolean): void {
    const slot = this.topology.slotOf(origin, target)
    if (isSet(this.unlooked, origin * this.rowBytes, slot) !== on) this.#turnUnlooked(origin, slot)
  }

  /** Turn a vote between up and down; `slot` is the one of `target`. */
  flip(origin: number, target: number, slot: number): void {
    this.downVotes[target]! += this.#flipBit(origin, slot)
  }

  /** Whether a backup observer is at work; `slot` is the one of its target. */
  isAtWork(origin: number, slot: number): boolean {
    return this.isSet(origin, slot + this.topology.backupSlots)
  }

  /** A backup observer begins or ends its work. */
  flipWork(origin: number, target: number, slot: number): void {
    const known = this.#backups.get(target) ?? new Set<number>()
    if (this.#flipBit(origin, slot + this.topology.backupSlots) > 0) known.add(origin)
    else known.delete(origin)
    if (known.size > 0) this.#backups.set(target, known)
    else this.#backups.delete(target)
  }

  /**
   * Carry a row over from before a change of the roster, without votes about members that left. A target that is new with
   * this roster counts as "not looked" until its observer says otherwise.
   */
  takeOver(previous: VoteRows, old: number, newIndexOf: Int32Array): void {
    const origin = newIndexOf[old]!
    for (const oldTarget of previous.topology.targetsOf(old)) {
      const target = newIndexOf[oldTarget]!
      const slot = target < 0 ? -1 : this.topology.slotOf(origin, target)
      if (slot < 0 || !previous.hasLooked(old, oldTarget)) continue
      this.setUnlooked(origin, target, false)
      if (previous.isSet(old, previous.topology.slotOf(old, oldTarget)))
        this.flip(origin, target, slot)
    }
  }

  #turnUnlooked(origin: number, slot: number): boolean {
    const { slots, backupSlots } = this.topology
    if (slot >= slots - backupSlots || this.topology.targetAt(origin, slot) < 0) return false
    this.unlookedCount[origin]! += flipBit(this.unlooked, origin * this.rowBytes, slot)
    return true
  }

  #flipAt(origin: number, bit: number): boolean {
    const { slots, backupSlots } = this.topology
    const isWork = bit >= slots
    if (bit >= slots + backupSlots) return false
    const slot = isWork ? bit - backupSlots : bit
    const target = this.topology.targetAt(origin, slot)
    if (target < 0) return false
    if (isWork) this.flipWork(origin, target, slot)
    else this.flip(origin, target, slot)
    return true
  }

  #flipBit(origin: number, slot: number): 1 | -1 {
    const step = flipBit(this.bits, origin * this.rowBytes, slot)
    this.downCount[origin]! += step
    return step
  }
}
