// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import { FLAG } from '../../../vote/evidence.js'
import { knownOf, OLDEST_MS, type Entry, type KnownStatement } from '../../identity/entries.js'
import { LINK_BYTES } from '../../identity/link-chain.js'
import type { Taken } from '../../identity/member-statement.js'
import { OwnStatement } from '../../identity/own-statement.js'
import { isSamePin } from '../../identity/pins.js'
import { moreOf, type News, type RecordTable } from '../../records/table.js'
import type { ZoneIdentities } from '../../results.js'
import { newMember, type MemberEntry } from './member-entry.js'
import { isLong, ownContent, StatementRecords } from './statement-record.js'
import { StatementNews } from './statement-news.js'
import type { PeerState } from './peer-state.js'
import { Proofs, type Arrival } from './proofs.js'
import { urgentSince } from './urgent.js'
import type { Refusal } from './refusal.js'
import type { PlacedEntry } from './signed-body.js'

/** A member's statement is asked for again at most this often, however many wrong links peers pass on. */
const MISSED_MS = 10_000
/** A statement that seems signed this soon after its member fell back to the zone's key may be from before. */
const FALLBACK_MARGIN_MS = 2_000

interface StatementsStart {
  readonly clock: Clock
  /** Quarters of a second that a link stands for. */
  readonly slot: number
  readonly savedEpoch: number
  readonly saveEpoch: (epoch: number) => void
  readonly nextHeartbeat: (floor: number) => number
  /** A member seems to have other keys than are known here: its Node should be read again. */
  readonly onUnknownIdentity: (name: NodeName) => void
  readonly onRefusal: (refusal: Refusal, peer: PeerState) => void
}

/** The members of one roster, in one zone. */
interface Place {
  readonly zoneHash: bigint
  readonly table: RecordTable
}

/** Counted since start, over all members. */
export interface StatementCounts {
  /** Signatures that were verified, good or bad. */
  readonly proved: number
  /** Different statements of one epoch and time: a node's keys are on two machines, or it lies. */
  readonly equivocations: number
}

/**
 * The newest statements of all members that sign, and of the own node: taken in from peers, passed on byte for byte, and
 * copied into the records. Members are indices of the present roster.
 */
export class Statements {
  readonly #start: StatementsStart
  readonly #proofs: Proofs
  #place: Place
  #identities: ZoneIdentities
  #own: OwnStatement | undefined
  #epoch: number
  #members: readonly (MemberEntry | undefined)[] = []
  #records: StatementRecords
  #equivocations = 0
  #news: StatementNews
  /** Undefined: not computed yet. */
  #areAllSigned: boolean | undefined

  constructor(start: StatementsStart, place: Place, identities: ZoneIdentities) {
    this.#start = start
    this.#proofs = new Proofs(place.table.size)
    this.#place = place
    this.#identities = identities
    this.#epoch = start.savedEpoch
    this.#records = new StatementRecords(place.table)
    this.#news = this.#newsOf(place)
    this.#begin()
    this.#follow()
  }

  get counts(): StatementCounts {
    const now = this.#members.reduce((sum, _, index) => sum + this.equivocationsOf(index), 0)
    return { proved: this.#proofs.proved, equivocations: this.#equivocations + now }
  }

  /** What peers lack of them. */
  get news(): StatementNews {
    return this.#news
  }

  /** Whether this member has to sign what it says: its keys are known and it has not fallen back to the zone's key. */
  isSigned(index: number): boolean {
    return this.#members[index]?.fellBackAt === Infinity
  }

  /** Different statements of one epoch and time that this member signed, since its keys are known. */
  equivocationsOf(index: number): number {
    return this.#members[index]?.latest.equivocations ?? 0
  }

  /** Whether keys of this member are known, also while it has fallen back to the zone's key. */
  hasKeys(index: number): boolean {
    return this.#members[index] !== undefined
  }

  /** Whether all members but the own node have to sign what they say. */
  areAllSigned(): boolean {
    const { self } = this.#place.table
    this.#areAllSigned ??= this.#members.every((_, index) => index === self || this.isSigned(index))
    return this.#areAllSigned
  }

  /** When this member last showed that its statement holds, by `Clock.now`; −Infinity when it never did. */
  signedAt(index: number): number {
    return this.#members[index]?.latest.madeAt ?? -Infinity
  }

  /** Whether the last that this member signed is that it leaves. */
  isLeaving(index: number): boolean {
    const flags = this.#members[index]?.latest.received?.statement.flags ?? 0
    return (flags & FLAG.leaving) !== 0
  }

  /** Believe this member without its signature, by the zone's key, until it signs again. */
  fallBack(index: number): void {
    const member = this.#members[index]
    if (member === undefined) return
    member.fellBackAt = Math.min(member.fellBackAt, this.#start.clock.now())
    this.#areAllSigned = undefined
  }

  /** This member signed a message with the keys of the pair. */
  endFallback(index: number): void {
    const member = this.#members[index]
    if (member !== undefined) this.#signs(member)
  }

  #signs(member: MemberEntry): void {
    if (member.fellBackAt === Infinity) return
    member.fellBackAt = Infinity
    this.#areAllSigned = undefined
  }

  /** Go on with another roster: statements are kept and copied into its records. */
  move(place: Place): void {
    const isOtherZone = place.zoneHash !== this.#place.zoneHash
    const before = isOtherZone ? [] : this.#byName()
    this.#place = place
    this.#proofs.setZoneSize(place.table.size)
    this.#records = new StatementRecords(place.table)
    this.#news = this.#newsOf(place)
    if (isOtherZone) this.#begin()
    this.#follow(new Map(before))
  }

  /** The known keys changed, of members or of the own node. */
  setIdentities(identities: ZoneIdentities): void {
    const { own } = this.#identities
    this.#identities = identities
    if (identities.own !== own) this.#begin()
    this.#follow(new Map(this.#byName()))
  }

  /** This node was suspended: see `Engine.resumed`. */
  resumed(): void {
    this.#own?.beginEpoch()
    for (const member of this.#members) member?.latest.forgetAge()
    this.#news.readAnew()
  }

  /** Bring the own statement up to date with the own record. */
  say(): void {
    this.#own?.say(ownContent(this.#place.table))
  }

  /**
   * Take in what a peer passes on.
   * @param delayMs milliseconds that the message may have been under way at most; added to the ages in it
   * @returns undefined when nothing was new
   */
  take(entries: readonly PlacedEntry[], peer: PeerState, delayMs: number): News | undefined {
    if (entries.length === 0) return undefined
    const { table } = this.#place
    const now = this.#start.clock.now()
    const seen = this.#news.seenBy(peer, now)
    const arrival = { peer, now, delayMs, seen }
    let news: News | undefined
    for (const { place, entry } of entries) {
      if (place === table.self) this.#hearOfUs(entry, arrival)
      else if (entry.kind === 'statement' && isLong(table, entry.received.statement))
        this.#start.onRefusal('long-statement', peer)
      else news = moreOf(news, this.#takeOne(place, entry, arrival))
    }
    return news
  }

  /** A peer passed on a statement in the own node's name. If it is newer than ours, we go on with a higher epoch. */
  #hearOfUs(entry: Entry, arrival: { readonly now: number; readonly peer: PeerState }): void {
    const own = this.#own
    if (entry.kind !== 'statement' || own?.isUnproved(entry.received) !== true) return
    if (this.#proofs.refute(own, entry.received, arrival)) this.#place.table.renew()
  }

  /** @param arrival with what the peer is known to know, by place */
  #takeOne(
    index: number,
    entry: Entry,
    arrival: Arrival & { readonly peer: PeerState; readonly seen: Uint8Array },
  ): News | undefined {
    const { now } = arrival
    const member = this.#members[index]
    if (member === undefined) return undefined
    const before = member.latest.received
    const taken = this.#proofs.prove(member, entry, arrival)
    if (taken === undefined) return undefined
    if (entry.kind === 'statement' && taken.kind !== 'early') member.isMissed = false
    if (taken.kind !== 'newer') this.#complain(taken, index, arrival)
    const isOther = member.latest.received !== before
    if (!isOther && taken.kind !== 'newer') return undefined
    const known = knownOf(member.latest)!
    if (isOther) member.urgentSince = urgentSince(before?.statement, known, { ...member, now })
    const digest = this.#news.changed(index, known, isOther)
    arrival.seen[index] = now - known.madeAt > OLDEST_MS ? 0 : digest
    return this.#learned(index, member, known)
  }

  /** More is known of this member. */
  #learned(index: number, member: MemberEntry, known: KnownStatement): News | undefined {
    const { fellBackAt } = member
    if (fellBackAt !== Infinity && known.madeAt <= fellBackAt + FALLBACK_MARGIN_MS) return undefined
    this.#signs(member)
    return this.#records.copy(index, known)
  }

  #complain(
    taken: Taken,
    index: number,
    { peer, now }: { readonly peer: PeerState; readonly now: number },
  ): void {
    const { onRefusal, onUnknownIdentity } = this.#start
    if (taken.kind === 'other-generation') onUnknownIdentity(this.#members[index]!.pin.node)
    if (taken.kind !== 'forged') return
    if (taken.reason === 'link') this.#noteMissed(index, now)
    onRefusal(taken.reason === 'signature' ? 'bad-statement' : 'bad-link', peer)
  }

  /** A link that does not fit may belong to a statement that never came, which the digest must then ask for. */
  #noteMissed(index: number, now: number): void {
    const member = this.#members[index]!
    if (now - member.missedAt < MISSED_MS) return
    member.isMissed = true
    member.missedAt = now
    this.#news.missed(index)
  }

  #newsOf({ table }: Place): StatementNews {
    return new StatementNews({
      clock: this.#start.clock,
      table,
      known: place => this.#known(place),
      member: place => this.#members[place],
    })
  }

  #known(index: number): KnownStatement | undefined {
    const { self } = this.#place.table
    if (index === self) return this.#own && { ...this.#own.news(), madeAt: this.#start.clock.now() }
    const member = this.#members[index]
    return member && knownOf(member.latest)
  }

  #byName(): [string, MemberEntry][] {
    return this.#members.flatMap(member =>
      member === undefined ? [] : [[member.pin.node as string, member]],
    )
  }

  /** Begin to sign, with other keys or in another zone. */
  #begin(): void {
    const { own } = this.#identities
    const { zoneHash, table } = this.#place
    const { clock, slot, saveEpoch, nextHeartbeat } = this.#start
    if (own === undefined) {
      this.#own = undefined
      return
    }
    const { id } = table.roster.members[table.self]!
    const save = (epoch: number): void => {
      this.#epoch = epoch
      saveEpoch(epoch)
    }
    this.#own = new OwnStatement(
      { origin: { zoneHash, id }, ...own, savedEpoch: this.#epoch },
      slot,
      ownContent(table),
      { clock, seed: () => randomBytes(LINK_BYTES), save, nextHeartbeat },
    )
  }

  /** The members whose keys are known. @param known what earlier rosters' members said, by name */
  #follow(known: ReadonlyMap<string, MemberEntry> = new Map()): void {
    const { zoneHash, table } = this.#place
    const { own, pins } = this.#identities
    for (const index of this.#members.keys()) this.#equivocations += this.equivocationsOf(index)
    this.#members = table.roster.members.map(({ name, id }, index) => {
      const pin = pins.get(name)
      if (pin === undefined || own === undefined || index === table.self) return undefined
      const old = known.get(name)
      if (old !== undefined && isSamePin(old.pin, pin)) {
        this.#equivocations -= old.latest.equivocations
        return { ...old, pin }
      }
      return newMember(pin, { zoneHash, id })
    })
    this.#areAllSigned = undefined
    this.#news.readAnew()
    this.#readAnew()
  }

  /** Copy all statements into the records. Unsigned records from before are not removed: they expire. */
  #readAnew(): void {
    this.#members.forEach((member, index) => {
      const known = member && knownOf(member.latest)
      if (known !== undefined && this.isSigned(index)) this.#records.copy(index, known)
    })
  }
}
