// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import {
  digestOf,
  knownOf,
  newsFor,
  type Entry,
  type KnownStatement,
} from '../../identity/entries.js'
import { Digests, type PeerKnowledge } from '../../identity/digests.js'
import { LINK_BYTES } from '../../identity/link-chain.js'
import type { Taken } from '../../identity/member-statement.js'
import { OwnStatement } from '../../identity/own-statement.js'
import { isSamePin } from '../../identity/pins.js'
import { QUARTER_MS } from '../../identity/statement.js'
import type { News, RecordTable } from '../../records/table.js'
import type { ZoneIdentities } from '../../results.js'
import { newMember, type MemberEntry } from './member-entry.js'
import { isLong, ownContent, StatementRecords } from './statement-record.js'
import { PeerDigests } from './peer-digests.js'
import type { PeerState } from './peer-state.js'
import { Proofs, type Arrival } from './proofs.js'
import { urgentSince } from './urgent.js'
import type { Refusal } from './refusal.js'
import type { NewsEntry, PlacedEntry } from './signed-body.js'

/** A peer that passed on a bad signature is not believed about others for so long. */
const MUTE_MS = 60_000
/** Quarters by which a sign of life must be later than the known one to be passed on while nothing is contested. */
export const QUIET_LEAST = 20
/** What a member said so recently may be new to a peer that has not sent its digest. */
const RECENT_MS = 30_000
/** A member's statement is asked for again at most this often, however many wrong links peers pass on. */
const MISSED_MS = 10_000
/** What a member seems to have signed so soon after it fell back to the zone's key may be from before. */
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
  /** Signatures that were proved, good or bad. */
  readonly proved: number
  /** Different statements of one epoch and time: a node's keys are on two machines, or it lies. */
  readonly equivocations: number
}

/** The larger of two pieces of news. */
export const moreOf = (a: News | undefined, b: News | undefined): News | undefined =>
  a === 'changed' ? a : (b ?? a)

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
  /** The places of members that may have said lately what others must hear at once. */
  #urgent = new Set<number>()
  #equivocations = 0
  /** Of all members but the own node. */
  #digests = new Digests(0)
  #peerDigests: PeerDigests

  constructor(start: StatementsStart, place: Place, identities: ZoneIdentities) {
    this.#start = start
    this.#proofs = new Proofs()
    this.#place = place
    this.#identities = identities
    this.#epoch = start.savedEpoch
    this.#records = new StatementRecords(place.table)
    this.#peerDigests = new PeerDigests(place.table.size)
    this.#begin()
    this.#follow()
  }

  get counts(): StatementCounts {
    const now = this.#members.reduce((sum, member) => sum + (member?.latest.equivocations ?? 0), 0)
    return { proved: this.#proofs.proved, equivocations: this.#equivocations + now }
  }

  /** Whether this member has to sign what it says: its keys are known and it has not fallen back to the zone's key. */
  isSigned(index: number): boolean {
    return this.#members[index]?.fellBackAt === Infinity
  }

  /** Whether keys of this member are known, also while it has fallen back to the zone's key. */
  hasKeys(index: number): boolean {
    return this.#members[index] !== undefined
  }

  /** Whether all members but the own node have to sign what they say. */
  areAllSigned(): boolean {
    const { self } = this.#place.table
    for (let index = 0; index < this.#members.length; index++)
      if (index !== self && !this.isSigned(index)) return false
    return true
  }

  /** When this member last showed that its statement holds, by `Clock.now`; −Infinity when it never did. */
  signedAt(index: number): number {
    return this.#members[index]?.latest.madeAt ?? -Infinity
  }

  /** Believe this member without its signature, by the zone's key, until it signs again. */
  fallBack(index: number): void {
    const member = this.#members[index]
    if (member !== undefined)
      member.fellBackAt = Math.min(member.fellBackAt, this.#start.clock.now())
  }

  /** This member signed a message with the keys of the pair. */
  endFallback(index: number): void {
    const member = this.#members[index]
    if (member !== undefined) member.fellBackAt = Infinity
  }

  /** Go on with another roster: statements are kept and copied into its records. */
  move(place: Place): void {
    const isOtherZone = place.zoneHash !== this.#place.zoneHash
    const before = isOtherZone ? [] : this.#byName()
    this.#place = place
    this.#records = new StatementRecords(place.table)
    this.#peerDigests = new PeerDigests(place.table.size)
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
    this.#setDigests()
  }

  /** Bring the own statement up to date with the own record. */
  say(): void {
    this.#own?.say(ownContent(this.#place.table))
  }

  /** How much is known of each member, one byte for each. */
  digest(): Buffer {
    const { table } = this.#place
    const { clock } = this.#start
    const now = clock.now()
    const out = this.#digests.bytes(now)
    out[table.self] = digestOf(this.#known(table.self), now)
    for (let index = 0; index < table.size; index++)
      if (this.#members[index]?.isMissed === true) out[index] = 0
    return out
  }

  /** A peer reported how much it knows of each member. */
  noteDigest(peer: PeerState, digest: Uint8Array): void {
    this.#peerDigests.set(peer, digest, this.#start.clock.now())
  }

  /**
   * What a peer lacks that asked, by its digest.
   * @param isBurst also signs of life that are later by less than `QUIET_LEAST`
   */
  newsFor(peer: PeerState, isBurst: boolean): readonly NewsEntry[] {
    const knowledge = this.#knowledgeOf(peer, isBurst)
    return this.#entries(this.#digests.placesOfNews(knowledge, this.#place.table.self), knowledge)
  }

  /**
   * What to send to a peer that did not ask: by its last digest, and what is recent.
   * @param isWide also of members that repeat what they said
   * @param isBurst as in `newsFor`
   */
  newsForPeer(peer: PeerState, isWide: boolean, isBurst: boolean): readonly NewsEntry[] {
    const knowledge = this.#knowledgeOf(peer, isBurst)
    const { now, seen } = knowledge
    const { self } = this.#place.table
    const recent = this.#recentPlaces(now)
    const more = isWide ? this.#digests.placesOfNews(knowledge).filter(place => seen?.[place]) : []
    const places = [...new Set([self, ...recent, ...more])].sort((a, b) => a - b)
    return this.#entries(
      places.filter(place => place === self || now - this.signedAt(place) <= RECENT_MS),
      knowledge,
    )
  }

  /** Of members that said lately what others must hear at once. */
  #recentPlaces(now: number): Iterable<number> {
    for (const place of this.#urgent)
      if (now - this.#members[place]!.urgentSince >= RECENT_MS) this.#urgent.delete(place)
    return this.#urgent
  }

  #knowledgeOf(peer: PeerState, isBurst: boolean): PeerKnowledge {
    const now = this.#start.clock.now()
    return { seen: this.#peerDigests.of(peer, now), now, least: isBurst ? 1 : QUIET_LEAST }
  }

  /** A peer received these entries: they are not sent to it again. */
  noteDelivered(peer: PeerState, entries: readonly NewsEntry[]): void {
    if (entries.length === 0) return
    const seen = this.#peerDigests.toUpdate(peer, this.#start.clock.now())
    for (const { place, digest } of entries) seen[place] = digest
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
    const seen = this.#peerDigests.toUpdate(peer, now)
    let news: News | undefined
    for (const { place, entry } of entries) {
      if (place === table.self) this.#hearOfUs(entry, now)
      else if (entry.kind === 'statement' && isLong(table, entry.received.statement))
        this.#start.onRefusal('long-statement', peer)
      else news = moreOf(news, this.#takeOne(place, entry, peer, { now, delayMs, seen }))
    }
    return news
  }

  /** A peer passed on a statement in the own node's name. Where it is later than the own one, that goes on above it. */
  #hearOfUs(entry: Entry, now: number): void {
    if (entry.kind !== 'statement' || !this.#proofs.afford(now, 1)) return
    if (this.#own?.refute(entry.received) === true) this.#place.table.renew()
  }

  /** @param arrival with what the peer is known to know, by place */
  #takeOne(
    index: number,
    entry: Entry,
    peer: PeerState,
    arrival: Arrival & { readonly seen: Uint8Array },
  ): News | undefined {
    const { now } = arrival
    const member = this.#members[index]
    if (member === undefined || (now < peer.mutedUntil && index !== peer.index)) return undefined
    const before = member.latest.received
    const taken = this.#proofs.prove(member, entry, arrival)
    if (taken === undefined) return undefined
    this.#complain(taken, member, peer)
    this.#noteMissed(taken, member, { entry, now })
    const isOther = member.latest.received !== before
    if (!isOther && taken.kind !== 'newer') return undefined
    const known = this.#known(index)!
    this.#digests.set(index, known)
    if (isOther) {
      member.urgentSince = urgentSince(before?.statement, known, { ...member, now })
      this.#urgent.add(index)
    }
    arrival.seen[index] = digestOf(known, now)
    if (known.madeAt <= member.fellBackAt + FALLBACK_MARGIN_MS && member.fellBackAt !== Infinity)
      return undefined
    member.fellBackAt = Infinity
    return this.#records.copy(index, known)
  }

  /** A link that does not fit may belong to a statement that never came, which the digest must then ask for. */
  #noteMissed(
    taken: Taken,
    member: MemberEntry,
    { entry, now }: { readonly entry: Entry; readonly now: number },
  ): void {
    if (entry.kind === 'statement' && taken.kind !== 'early') member.isMissed = false
    if (taken.kind !== 'forged' || taken.reason !== 'link') return
    if (now - member.missedAt < MISSED_MS) return
    member.isMissed = true
    member.missedAt = now
  }

  #complain(taken: Taken, { pin }: MemberEntry, peer: PeerState): void {
    const { onRefusal, onUnknownIdentity, clock } = this.#start
    if (taken.kind === 'other-generation') onUnknownIdentity(pin.node)
    if (taken.kind !== 'forged') return
    // A wrong link alone is no lie: it may belong to a statement that never came.
    if (taken.reason === 'signature') peer.mutedUntil = clock.now() + MUTE_MS
    onRefusal(taken.reason === 'signature' ? 'bad-statement' : 'bad-link', peer)
  }

  /** What a peer lacks of the members at these places. @param places ascending */
  #entries(places: readonly number[], { seen, now, least }: PeerKnowledge): readonly NewsEntry[] {
    const found: NewsEntry[] = []
    for (const place of places) {
      const known = this.#known(place)
      const entry = known && newsFor(known, seen?.[place] ?? 0, now, least)
      if (entry !== undefined) found.push({ place, entry, digest: digestOf(known, now) })
    }
    return found
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
    for (const member of this.#members) this.#equivocations += member?.latest.equivocations ?? 0
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
    this.#urgent = new Set(this.#members.flatMap((member, place) => (member ? [place] : [])))
    this.#digests = new Digests(table.size)
    this.#setDigests()
    this.#readAnew()
  }

  #setDigests(): void {
    this.#members.forEach((member, index) =>
      this.#digests.set(index, member && knownOf(member.latest)),
    )
  }

  /** Copy all statements into the records. Unsigned records from before are not removed: they expire. */
  #readAnew(): void {
    this.#members.forEach((member, index) => {
      const known = member && knownOf(member.latest)
      if (known !== undefined && this.isSigned(index)) this.#records.copy(index, known)
    })
  }
}

/** `--link-slot` in the unit of statements. */
export const slotOf = (linkSlotMs: number): number => Math.round(linkSlotMs / QUARTER_MS)
