// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { Digests, type PeerKnowledge } from '../../identity/digests.js'
import { digestOf, newsFor, type KnownStatement } from '../../identity/entries.js'
import type { RecordTable } from '../../records/table.js'
import type { MemberEntry } from './member-entry.js'
import { PeerDigests } from './peer-digests.js'
import type { PeerState } from './peer-state.js'
import type { NewsEntry } from './signed-body.js'

/** While nothing is contested, a sign of life is passed on only if it is this many quarters later than the known one. */
export const QUIET_LEAST = 20
/** What a member said so recently may be new to a peer that has not sent its digest. */
const RECENT_MS = 30_000
/**
 * Each statement of another member goes to this many peers that did not ask for it, enough for nearly all to get it from
 * somebody. The others get it when they send their digest, as in each exchange.
 */
const UNASKED_PEERS = 4

interface StatementNewsSeams {
  readonly clock: Clock
  readonly table: Pick<RecordTable, 'self' | 'size'>
  /** What is known of the member at a place, the own node among them. */
  readonly known: (place: number) => KnownStatement | undefined
  /** Undefined for a member without keys and for the own node. */
  readonly member: (place: number) => Pick<MemberEntry, 'urgentSince' | 'isMissed'> | undefined
}

/** What peers lack of the members' statements. Members are indices of one roster. */
export class StatementNews {
  readonly #seams: StatementNewsSeams
  /** Of all members but the own node. */
  readonly #digests: Digests
  readonly #peerDigests: PeerDigests
  /** The first peers that were sent the member's present statement without asking, by place. */
  readonly #sentUnasked = new Map<number, Set<PeerState>>()
  /** The places of members that may have said something lately that others must hear at once. */
  #urgent = new Set<number>()
  /** The places of members of which peers have, or had, links that fit no statement known here. */
  #missed = new Set<number>()

  constructor(seams: StatementNewsSeams) {
    const { size } = seams.table
    this.#seams = seams
    this.#digests = new Digests(size)
    this.#peerDigests = new PeerDigests(size)
  }

  /** What is known of any member, or its age, may have changed. */
  readAnew(): void {
    const { table, known, member } = this.#seams
    this.#urgent = new Set()
    this.#missed = new Set()
    for (let place = 0; place < table.size; place++) {
      if (place === table.self) continue
      this.#digests.set(place, known(place))
      if (member(place) === undefined) continue
      this.#urgent.add(place)
      this.#missed.add(place)
    }
  }

  /**
   * More is known of this member.
   * @param isOther it says something else
   * @returns its digest while that is recent
   */
  changed(place: number, known: KnownStatement, isOther: boolean): number {
    if (isOther) {
      this.#urgent.add(place)
      this.#sentUnasked.delete(place)
    }
    return this.#digests.set(place, known)
  }

  /** Peers have links of this member that fit no statement that is known here. */
  missed(place: number): void {
    this.#missed.add(place)
  }

  /** How much is known of each member, one byte for each. */
  digest(): Buffer {
    const { table, known, member } = this.#seams
    const now = this.#seams.clock.now()
    const out = this.#digests.bytes(now)
    out[table.self] = digestOf(known(table.self), now)
    for (const place of this.#missed) {
      if (member(place)!.isMissed) out[place] = 0
      else this.#missed.delete(place)
    }
    return out
  }

  /** A peer reported how much it knows of each member. */
  noteDigest(peer: PeerState, digest: Uint8Array): void {
    this.#peerDigests.set(peer, digest, this.#seams.clock.now())
  }

  /** A peer received these entries: they are not sent to it again. */
  noteDelivered(peer: PeerState, entries: readonly NewsEntry[]): void {
    if (entries.length === 0) return
    const seen = this.seenBy(peer, this.#seams.clock.now())
    for (const { place, digest } of entries) seen[place] = digest
  }

  /** The peer's digests by place, for writing what it knows. */
  seenBy(peer: PeerState, now: number): Uint8Array {
    return this.#peerDigests.toUpdate(peer, now)
  }

  /**
   * What a peer that asked lacks, by its digest.
   * @param isBurst also signs of life that are later by less than `QUIET_LEAST`
   */
  forAsking(peer: PeerState, isBurst: boolean): readonly NewsEntry[] {
    const knowledge = this.#knowledgeOf(peer, isBurst)
    return this.#entries(this.#digests.placesOfNews(knowledge, this.#seams.table.self), knowledge)
  }

  /** These entries go to a peer that did not ask for them. */
  noteSentUnasked(peer: PeerState, entries: readonly NewsEntry[]): void {
    for (const { place, entry } of entries) {
      if (entry.kind !== 'statement' || place === this.#seams.table.self) continue
      const sent = this.#sentUnasked.get(place) ?? new Set()
      if (sent.size < UNASKED_PEERS) this.#sentUnasked.set(place, sent.add(peer))
    }
  }

  /** A peer that was sent it may be sent it again: it may not have arrived, and the peer takes up no further place. */
  #maySendUnasked(peer: PeerState, place: number): boolean {
    const sent = this.#sentUnasked.get(place)
    return sent === undefined || sent.size < UNASKED_PEERS || sent.has(peer)
  }

  /**
   * What to send to a peer that did not ask: the recent news that it lacks by its last digest. Statements of others that
   * went to `UNASKED_PEERS` already are left out.
   * @param isWide include members that only repeat what they said
   * @param isBurst as in `forAsking`
   */
  unasked(peer: PeerState, isWide: boolean, isBurst: boolean): readonly NewsEntry[] {
    const knowledge = this.#knowledgeOf(peer, isBurst)
    const { now, seen } = knowledge
    const { known, table } = this.#seams
    const more = isWide ? this.#digests.placesOfNews(knowledge).filter(place => seen?.[place]) : []
    const places = new Set([table.self, ...this.#recentPlaces(now), ...more])
    const isRecent = (place: number): boolean =>
      place === table.self || now - (known(place)?.madeAt ?? -Infinity) <= RECENT_MS
    const entries = this.#entries(
      [...places].filter(isRecent).sort((a, b) => a - b),
      knowledge,
    )
    return entries.filter(
      ({ place, entry }) => entry.kind !== 'statement' || this.#maySendUnasked(peer, place),
    )
  }

  /** The places of members that said something lately that others must hear at once. */
  #recentPlaces(now: number): Iterable<number> {
    for (const place of this.#urgent) {
      const { urgentSince } = this.#seams.member(place)!
      if (now - urgentSince < RECENT_MS) continue
      this.#urgent.delete(place)
      this.#sentUnasked.delete(place)
    }
    return this.#urgent
  }

  #knowledgeOf(peer: PeerState, isBurst: boolean): PeerKnowledge {
    const now = this.#seams.clock.now()
    return { seen: this.#peerDigests.of(peer, now), now, least: isBurst ? 1 : QUIET_LEAST }
  }

  /** What a peer lacks of the members at these places. @param places ascending */
  #entries(places: readonly number[], { seen, now, least }: PeerKnowledge): readonly NewsEntry[] {
    const found: NewsEntry[] = []
    const { table } = this.#seams
    for (const place of places) {
      const known = this.#seams.known(place)
      const rule = { least, isOwn: place === table.self }
      const entry = known && newsFor(known, seen?.[place] ?? 0, now, rule)
      if (entry !== undefined) found.push({ place, entry, digest: digestOf(known, now) })
    }
    return found
  }
}
