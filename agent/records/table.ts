// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { id64 } from '../../core/ids.js'
import type { Roster } from '../../core/roster.js'
import { FLAG, HELD, type Evidence, type Vote } from '../../vote/evidence.js'
import { LEAP_MAX, type Heartbeat } from './heartbeat.js'
import { newDraft, type RecordDraft } from './record-draft.js'
import type { Topology } from './topology.js'
import { VoteRows } from './vote-rows.js'

/** The bits that FLAG defines; the wire uses the two others. */
export const FLAG_MASK = 0x3f

/** An own record younger than this is sent as it is, unless something in it changed. */
const BEAT_EVERY_MS = 250
/** Ages are rounded up to a quarter of a second each time a record is passed on, which is seldom more than four times. */
const ROUNDED_MS = 1_000

/** What a record changed: nothing; only its age; or its content. */
export type Merged = 'old' | News

/** What is new about a record: only its age, or its content. A record that follows an expired one counts as new content. */
export type News = 'fresher' | 'changed'

/** The larger of two pieces of news. */
export const moreOf = (a: News | undefined, b: News | undefined): News | undefined =>
  a === 'changed' ? a : (b ?? a)

export interface TableSeams {
  readonly clock: Clock
  readonly heartbeat: Heartbeat
  /** How long a record counts. */
  readonly recordTtlMs: number
}

/**
 * What every member last said, as columns over the roster. A record is replaced only by one with a larger heartbeat
 * and then as a whole, so the order and the number of deliveries do not matter. Freshness is the age of the
 * information, wherever it travelled. A roster change is a new table that takes over what it can.
 */
export class RecordTable implements Evidence {
  readonly roster: Roster
  readonly topology: Topology
  readonly size: number
  readonly self: number
  /** Equal where rows can be read by place: same members, same topology. */
  readonly hash: bigint
  readonly producedAt: Float64Array
  readonly flags: Uint8Array
  readonly cloudCutAt: Float64Array
  readonly failedRounds: Int16Array
  /** Heartbeat of each member's newest record; 0 when nothing was ever heard. */
  readonly hb: Uint32Array
  /** How often each member's row was replaced: while that stays the same, the row holds what `put` wrote. */
  readonly replaced: Uint32Array
  /** 1 where what counts is a SuperEdge result; its heartbeat is 0, so it is passed on to nobody. */
  readonly foreign: Uint8Array
  /** As in `VoteRows`. */
  readonly downVotes: Uint16Array
  readonly downCount: Uint16Array
  readonly unlookedCount: Uint16Array
  readonly rowBytes: number
  readonly bits: Uint8Array
  readonly unlooked: Uint8Array
  readonly #seams: TableSeams
  readonly #rows: VoteRows
  /** Own down votes about members without a slot: they are not sent to others. */
  readonly #privateDown = new Set<number>()
  #isOwnNew = true

  constructor(roster: Roster, topology: Topology, seams: TableSeams, previous?: RecordTable) {
    const size = roster.members.length
    this.roster = roster
    this.topology = topology
    this.size = size
    this.self = roster.self
    this.hash = id64(`${roster.hash.toString(16)} ${topology.kind} ${topology.slots}`)
    this.producedAt = new Float64Array(size).fill(-Infinity)
    this.flags = new Uint8Array(size)
    this.cloudCutAt = new Float64Array(size).fill(-Infinity)
    this.failedRounds = new Int16Array(size).fill(-1)
    this.hb = new Uint32Array(size)
    this.replaced = new Uint32Array(size)
    this.foreign = new Uint8Array(size)
    this.#rows = new VoteRows(size, topology)
    const { downVotes, downCount, unlookedCount, rowBytes, bits, unlooked } = this.#rows
    this.downVotes = downVotes
    this.downCount = downCount
    this.unlookedCount = unlookedCount
    this.rowBytes = rowBytes
    this.bits = bits
    this.unlooked = unlooked
    this.#seams = seams
    if (previous !== undefined) this.#takeOver(previous)
    this.foreign[this.self] = 0
    this.beat()
  }

  observersOf(target: number): ArrayLike<number> {
    return this.#rows.observersOf(target)
  }

  saysDown(observer: number, target: number): boolean {
    const slot = this.#rows.slotOf(observer, target)
    if (slot >= 0) return this.#rows.isSet(observer, slot)
    return observer === this.self && this.#privateDown.has(target)
  }

  hasLooked(observer: number, target: number): boolean {
    return this.#rows.hasLooked(observer, target)
  }

  /** A draft that fits this table's rows. */
  readonly makeDraft = (): RecordDraft => newDraft(this.rowBytes)

  /**
   * The result of our own rounds. Votes about a member that we neither watch nor stand in for are not sent to others.
   * @param failedRounds as in `Evidence`; with not-looked, −1 or `HELD`.
   * @returns whether the own vote turned to down or away from it, or to up after a hold.
   */
  setOwnVote(target: number, says: Vote, failedRounds: number): boolean {
    const { self, topology } = this
    if (target === self) return false
    if (says === 'not-looked') return this.#dropOwnVote(target, failedRounds)
    const isDown = says === 'down'
    const wasHeld = this.failedRounds[target] === HELD
    this.failedRounds[target] = Math.max(-1, Math.min(0x7fff, failedRounds))
    const rows = this.#rows
    const slot = topology.slotOf(self, target)
    const backupSlot = slot < 0 ? topology.backupSlotOf(self, target) : -1
    if (slot < 0 && backupSlot < 0) {
      if (isDown) this.#privateDown.add(target)
      else this.#privateDown.delete(target)
      return false
    }
    // A round that confirms the vote makes the record newer all the same.
    this.#isOwnNew = true
    if (slot >= 0) rows.setUnlooked(self, target, false)
    else if (!rows.isAtWork(self, backupSlot)) rows.flipWork(self, target, backupSlot)
    if (this.saysDown(self, target) === isDown) return wasHeld && !isDown
    rows.flip(self, target, Math.max(slot, backupSlot))
    return true
  }

  /** Neither up nor down from now on. @returns whether others knew of a down. */
  #dropOwnVote(target: number, failedRounds: number): boolean {
    const { self } = this
    const slot = this.#rows.slotOf(self, target)
    const wasDown = slot >= 0 && this.#rows.isSet(self, slot)
    if (this.topology.slotOf(self, target) < 0) this.forgetOwnVote(target)
    else {
      this.#isOwnNew = true
      if (wasDown) this.#rows.flip(self, target, slot)
      this.#rows.setUnlooked(self, target, true)
    }
    this.failedRounds[target] = failedRounds
    return wasDown
  }

  /** We no longer probe this member, which we need not watch: drop our vote about it. */
  forgetOwnVote(target: number): void {
    const { self } = this
    if (this.topology.slotOf(self, target) >= 0) return
    this.failedRounds[target] = -1
    this.#privateDown.delete(target)
    const slot = this.topology.backupSlotOf(self, target)
    if (slot < 0 || !this.#rows.isAtWork(self, slot)) return
    if (this.#rows.isSet(self, slot)) this.#rows.flip(self, target, slot)
    this.#rows.flipWork(self, target, slot)
    this.#isOwnNew = true
  }

  /**
   * What the own record says of its own node.
   * @param cloudCutAt `Clock.now` when the cloud link was cut; counts only with FLAG.cloudCut.
   * @returns the flag bits that changed.
   */
  setOwnFlags(flags: number, cloudCutAt: number): number {
    const bits = flags & FLAG_MASK
    const cutAt = (bits & FLAG.cloudCut) === 0 ? -Infinity : cloudCutAt
    const changed = this.flags[this.self]! ^ bits
    if (changed === 0 && this.cloudCutAt[this.self] === cutAt) return 0
    this.flags[this.self] = bits
    this.cloudCutAt[this.self] = cutAt
    this.#isOwnNew = true
    return changed
  }

  /** The own record still holds: renew it the next time it is sent, however young it is. */
  renew(): void {
    this.#isOwnNew = true
  }

  /** The age of the others' records is unknown: they no longer count, until their origins speak again. */
  forgetAges(): void {
    const own = this.producedAt[this.self]!
    this.producedAt.fill(-Infinity)
    this.producedAt[this.self] = own
    this.#isOwnNew = true
  }

  /** Make the own record as new as now; called before it is sent. */
  beat(): void {
    const now = this.#seams.clock.now()
    if (!this.#isOwnNew && now - this.producedAt[this.self]! < BEAT_EVERY_MS) return
    this.#isOwnNew = false
    this.hb[this.self] = this.#seams.heartbeat.next()
    this.producedAt[this.self] = now
  }

  /**
   * Take a record in if it is newer than what we have. A record in the own name is refuted instead.
   * @param isFirstHand it came from its origin itself, just now.
   */
  merge(draft: RecordDraft, isFirstHand = false): Merged {
    if (draft.origin === this.self) {
      this.#refute(draft)
      return 'old'
    }
    return this.#isNews(draft, isFirstHand) ? this.put(draft, this.#madeAt(draft)) : 'old'
  }

  /**
   * When the record was made, at the earliest: not before the one that it replaces, whose age may have been rounded up less
   * often. Corrects no more than rounding, so that one wrong age does not make later records look young.
   */
  #madeAt({ origin, hb, producedAt }: RecordDraft): number {
    const before = this.producedAt[origin]!
    if (hb <= this.hb[origin]! || before <= producedAt) return producedAt
    return Math.min(before, producedAt + ROUNDED_MS)
  }

  /** Store a record that is known to be the newest of its origin, which is not this node. */
  put(draft: RecordDraft, producedAt = draft.producedAt): News {
    const { origin, hb } = draft
    const flags = draft.flags & FLAG_MASK
    const cutAt = (flags & FLAG.cloudCut) === 0 ? -Infinity : draft.cloudCutAt
    const hasNewFlags = this.flags[origin] !== flags || this.hb[origin] === 0
    const countsAgain = this.#countsAgain(origin, producedAt)
    this.hb[origin] = hb
    this.producedAt[origin] = producedAt
    this.flags[origin] = flags
    this.cloudCutAt[origin] = cutAt
    this.foreign[origin] = 0
    this.replaced[origin]!++
    return this.#rows.setRow(draft) || hasNewFlags || countsAgain ? 'changed' : 'fresher'
  }

  /** Renew a record of another member that `put` wrote: it is newer, and says the same. */
  renewMember(origin: number, hb: number, producedAt: number, cloudCutAt: number): News {
    const countsAgain = this.#countsAgain(origin, producedAt)
    this.hb[origin] = hb
    this.producedAt[origin] = producedAt
    this.cloudCutAt[origin] = cloudCutAt
    return countsAgain ? 'changed' : 'fresher'
  }

  /**
   * Store what a member says as a SuperEdge agent, as said just now. It has no heartbeat: it is sent to nobody else, and
   * the first record of our own protocol takes its place.
   */
  setForeign(draft: RecordDraft): News {
    const { origin } = draft
    const flags = draft.flags & FLAG_MASK
    const isFirst = this.foreign[origin] === 0
    const hasNewFlags = isFirst || this.flags[origin] !== flags
    const now = this.#seams.clock.now()
    const countsAgain = this.#countsAgain(origin, now)
    this.foreign[origin] = 1
    this.replaced[origin]!++
    this.producedAt[origin] = now
    this.flags[origin] = flags
    return this.#rows.setRow(draft) || hasNewFlags || countsAgain ? 'changed' : 'fresher'
  }

  /** What this member said as a SuperEdge agent no longer counts. @returns whether there was anything. */
  dropForeign(origin: number): boolean {
    if (this.foreign[origin] === 0) return false
    this.foreign[origin] = 0
    this.replaced[origin]!++
    this.producedAt[origin] = -Infinity
    this.flags[origin] = 0
    this.#rows.setRow({ ...this.makeDraft(), origin })
    return true
  }

  /**
   * A larger heartbeat is news; a number above LEAP_MAX only if its record has not expired. Once the record known here has
   * expired, what its origin itself sends counts whatever its number. So a forged huge number matters no longer than its
   * record. What others pass on always needs a larger number: a relay that was suspended may take an old record for a
   * young one.
   */
  #isNews({ origin, hb, producedAt }: RecordDraft, isFirstHand: boolean): boolean {
    if (hb > this.hb[origin]!) return hb <= LEAP_MAX || !this.#isExpired(producedAt)
    return isFirstHand && this.#countsAgain(origin, producedAt)
  }

  #isExpired(producedAt: number): boolean {
    const { clock, recordTtlMs } = this.#seams
    return producedAt <= clock.now() - recordTtlMs
  }

  /** Whether a record of this age counts in the place of one that has expired. */
  #countsAgain(origin: number, producedAt: number): boolean {
    const { clock, recordTtlMs } = this.#seams
    const expiredAt = clock.now() - recordTtlMs
    return this.producedAt[origin]! <= expiredAt && producedAt > expiredAt
  }

  /**
   * A peer has a record in our name. If it is newer than ours, or as new with another content, it is from an earlier run
   * or forged: the next own record must be above it. An equal one is our own echo.
   */
  #refute(draft: RecordDraft): void {
    const mine = this.hb[this.self]!
    if (draft.hb < mine) return
    if (draft.hb === mine && !this.#isOwnNew && this.#isOwnEcho(draft)) return
    this.#seams.heartbeat.refute(draft.hb)
    this.#isOwnNew = true
  }

  #isOwnEcho(draft: RecordDraft): boolean {
    return (draft.flags & FLAG_MASK) === this.flags[this.self] && this.#rows.has(draft)
  }

  /** Carry over by name what the two rosters share; votes about members that left are dropped. */
  #takeOver(previous: RecordTable): void {
    const now = this.roster.members.map(member => previous.roster.indexOfId(member.id) ?? -1)
    const newIndexOf = new Int32Array(previous.size).fill(-1)
    now.forEach((old, index) => {
      if (old >= 0) newIndexOf[old] = index
    })
    now.forEach((old, index) => {
      if (old < 0) return
      this.hb[index] = previous.hb[old]!
      this.producedAt[index] = previous.producedAt[old]!
      this.flags[index] = previous.flags[old]!
      this.cloudCutAt[index] = previous.cloudCutAt[old]!
      this.foreign[index] = previous.foreign[old]!
      if (this.topology.slotOf(this.self, index) >= 0)
        this.failedRounds[index] = previous.failedRounds[old]!
      this.#rows.takeOver(previous.#rows, old, newIndexOf)
    })
  }
}
