// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import { digestOf, knownOf, newsFor, type Entry, type KnownWord } from '../../identity/entries.js'
import { LINK_BYTES } from '../../identity/link-chain.js'
import type { Taken } from '../../identity/member-word.js'
import { OwnWord } from '../../identity/own-word.js'
import { isSamePin } from '../../identity/pins.js'
import { QUARTER_MS } from '../../identity/statement.js'
import type { RecordDraft } from '../../records/record-draft.js'
import type { News, RecordTable } from '../../records/table.js'
import type { ZoneIdentities } from '../../results.js'
import { newMember, type MemberEntry } from './member-entry.js'
import { draftOf, ownContent } from './said.js'
import type { PeerState } from './peer-state.js'
import { Proofs } from './proofs.js'
import { urgentSince } from './urgent.js'
import type { Refusal } from './refusal.js'
import type { NewsEntry, PlacedEntry } from './signed-body.js'

/** Who passed on what its origin did not sign is not believed about others for so long. */
const MUTE_MS = 60_000
/** While nothing is contested a sign of life is news when it is later by so many quarters than the one that is known. */
export const QUIET_LEAST = 20
/** Records this recent may be new to a peer that did not say what it knows. */
const RECENT_MS = 30_000
/** A member's statement is asked for again at most this often: a peer that lies about links makes it come for nothing. */
const MISSED_MS = 10_000
/** What was signed so soon after a member's keys were set aside may have been made before. */
const ASIDE_MS = 2_000
/** What a peer reported to know is of no use afterwards: the same bytes stand for other times then. */
export const DIGEST_MS = 30_000

interface WordsStart {
  readonly clock: Clock
  /** Quarters of a second that a link stands for. */
  readonly slot: number
  readonly savedEpoch: number
  readonly saveEpoch: (epoch: number) => void
  readonly nextHeartbeat: (floor: number) => number
  /** A member seems to have other keys than those that we know: read its Node again. */
  readonly onUnknownIdentity: (name: NodeName) => void
  readonly onRefusal: (refusal: Refusal, peer: PeerState) => void
}

/** The members of one roster, in one zone. */
interface Place {
  readonly zoneHash: bigint
  readonly table: RecordTable
}

/** How far what all members signed could be believed, since start. */
export interface WordCounts {
  /** Signatures that were proved, good or bad. */
  readonly proved: number
  /** Two statements of one number: a node's keys are on two machines, or it lies. */
  readonly equivocations: number
}

/** The larger of two pieces of news. */
export const moreOf = (a: News | undefined, b: News | undefined): News | undefined =>
  a === 'changed' ? a : (b ?? a)

/**
 * What the members with identities signed, and the own node. It is passed on byte for byte, and what of it is new goes
 * into the records. Members are roster indices of the present roster.
 */
export class Words {
  readonly #start: WordsStart
  readonly #proofs: Proofs
  #place: Place
  #identities: ZoneIdentities
  #own: OwnWord | undefined
  #epoch: number
  #members: readonly (MemberEntry | undefined)[] = []
  #draft: RecordDraft
  #equivocations = 0

  constructor(start: WordsStart, place: Place, identities: ZoneIdentities) {
    this.#start = start
    this.#proofs = new Proofs(start.clock)
    this.#place = place
    this.#identities = identities
    this.#epoch = start.savedEpoch
    this.#draft = place.table.makeDraft()
    this.#begin()
    this.#follow()
  }

  get counts(): WordCounts {
    const now = this.#members.reduce((sum, member) => sum + (member?.word.equivocations ?? 0), 0)
    return { proved: this.#proofs.proved, equivocations: this.#equivocations + now }
  }

  /** Whether this member signs what it says, with keys that we know. */
  isSigned(index: number): boolean {
    return this.#members[index]?.asideAt === Infinity
  }

  /** Whether keys of this member are known, which may be set aside. */
  hasKeys(index: number): boolean {
    return this.#members[index] !== undefined
  }

  /** When this member last stood by what it signed, in our time. */
  signedAt(index: number): number {
    return this.#members[index]?.word.madeAt ?? -Infinity
  }

  /** This member counts by the key of the zone, until it shows its own. */
  setAside(index: number): void {
    const member = this.#members[index]
    if (member !== undefined) member.asideAt = Math.min(member.asideAt, this.#start.clock.now())
  }

  /** This member showed its keys. */
  takeBack(index: number): void {
    const member = this.#members[index]
    if (member !== undefined) member.asideAt = Infinity
  }

  /** Go on with another roster: what the members signed is read anew with it. */
  move(place: Place): void {
    const isOtherZone = place.zoneHash !== this.#place.zoneHash
    const before = isOtherZone ? [] : this.#byName()
    this.#place = place
    this.#draft = place.table.makeDraft()
    if (isOtherZone) this.#begin()
    this.#follow(new Map(before))
  }

  /** Other keys became known, of members or of the own node. */
  setIdentities(identities: ZoneIdentities): void {
    const { own } = this.#identities
    this.#identities = identities
    if (identities.own !== own) this.#begin()
    this.#follow(new Map(this.#byName()))
  }

  /** This node was suspended: see `Engine.resumed`. */
  resumed(): void {
    this.#own?.beginEpoch()
    for (const member of this.#members) member?.word.forgetAge()
  }

  /** Say what the own record says now. */
  say(): void {
    this.#own?.say(ownContent(this.#place.table))
  }

  /** One byte for each member: how much of what it says is known here. */
  digest(): Buffer {
    const { table } = this.#place
    const { clock } = this.#start
    const now = clock.now()
    const out = Buffer.alloc(table.size)
    for (let index = 0; index < table.size; index++)
      if (this.#members[index]?.isMissed !== true) out[index] = digestOf(this.#known(index), now)
    return out
  }

  /**
   * What of all that is known is new to somebody who knows so much.
   * @param isBurst whatever is later at all
   */
  newsFor(digest: Uint8Array, isBurst: boolean): readonly NewsEntry[] {
    const now = this.#start.clock.now()
    const least = isBurst ? 1 : QUIET_LEAST
    return this.#entries((known, index) => newsFor(known, digest[index] ?? 0, now, least))
  }

  /**
   * The records to send to a peer unasked: by what it last reported to know, and what is recent.
   * @param isWide also of members who go on saying the same
   * @param isBurst as in `newsFor`
   */
  newsForPeer(peer: PeerState, isWide: boolean, isBurst: boolean): readonly NewsEntry[] {
    const { self } = this.#place.table
    const now = this.#start.clock.now()
    const least = isBurst ? 1 : QUIET_LEAST
    const digest = now - peer.digestAt > DIGEST_MS ? undefined : peer.digest
    return this.#entries((known, index) => {
      const seen = digest?.[index] ?? 0
      const isRecent = index === self || now - this.#members[index]!.urgentSince < RECENT_MS
      if (!isRecent && (!isWide || seen === 0)) return undefined
      return now - known.madeAt > RECENT_MS ? undefined : newsFor(known, seen, now, least)
    })
  }

  /** A peer received these: they need not be sent to it again. */
  told(peer: PeerState, entries: readonly NewsEntry[]): void {
    for (const { place, digest } of entries) this.#knows(peer, place, digest)
  }

  /**
   * Take in what a peer passes on.
   * @param delayMs the longest it may have been under way; it is added to the ages that it reports
   */
  take(entries: readonly PlacedEntry[], peer: PeerState, delayMs: number): News | undefined {
    let news: News | undefined
    for (const { place, entry } of entries) {
      if (place === this.#place.table.self) this.#hearOfUs(entry)
      else news = moreOf(news, this.#takeOne(place, entry, peer, delayMs))
    }
    return news
  }

  /** Somebody shows what was said in our name: if another life of ours said it later, ours begins anew above it. */
  #hearOfUs(entry: Entry): void {
    if (entry.kind === 'statement' && this.#proofs.afford(1) && this.#own?.refute(entry.received))
      this.#place.table.renew()
  }

  #takeOne(index: number, entry: Entry, peer: PeerState, delayMs: number): News | undefined {
    const { table } = this.#place
    const now = this.#start.clock.now()
    const member = this.#members[index]
    if (member === undefined || (now < peer.mutedUntil && index !== peer.index)) return undefined
    const before = member.word.received
    const taken = this.#proofs.prove(member, entry, delayMs)
    if (taken === undefined) return undefined
    this.#complain(taken, member, peer)
    this.#noteMissed(taken, member, entry)
    const isOther = member.word.received !== before
    if (!isOther && taken.kind !== 'newer') return undefined
    const known = this.#known(index)!
    if (isOther) member.urgentSince = urgentSince(before?.statement, known, { ...member, now })
    this.#knows(peer, index, digestOf(known, now))
    if (known.madeAt <= member.asideAt + ASIDE_MS && member.asideAt !== Infinity) return undefined
    member.asideAt = Infinity
    return table.put(draftOf(table, this.#draft, index, known))
  }

  /** Two epochs may begin at one time: who asks by that time for what is new is not sent the second one's statement. */
  #noteMissed(taken: Taken, member: MemberEntry, { kind }: Entry): void {
    const now = this.#start.clock.now()
    if (kind === 'statement' && taken.kind !== 'early') member.isMissed = false
    if (taken.kind !== 'forged' || taken.reason !== 'link') return
    if (now - member.missedAt < MISSED_MS) return
    member.isMissed = true
    member.missedAt = now
  }

  #complain(taken: Taken, { pin }: MemberEntry, peer: PeerState): void {
    const { onRefusal, onUnknownIdentity, clock } = this.#start
    if (taken.kind === 'other-generation') onUnknownIdentity(pin.node)
    if (taken.kind !== 'forged') return
    // A link may also belong to a statement that we never got: nobody need have lied.
    if (taken.reason === 'signature') peer.mutedUntil = clock.now() + MUTE_MS
    onRefusal(taken.reason === 'signature' ? 'bad-statement' : 'bad-link', peer)
  }

  #knows(peer: PeerState, index: number, digest: number): void {
    if (peer.digest === undefined)
      peer.noteDigest(Buffer.alloc(this.#place.table.size), this.#start.clock.now())
    peer.digest![index] = digest
  }

  #entries(entryOf: (known: KnownWord, index: number) => Entry | undefined): readonly NewsEntry[] {
    const { size } = this.#place.table
    const now = this.#start.clock.now()
    const found: NewsEntry[] = []
    for (let place = 0; place < size; place++) {
      const known = this.#known(place)
      const entry = known && entryOf(known, place)
      if (entry !== undefined) found.push({ place, entry, digest: digestOf(known, now) })
    }
    return found
  }

  #known(index: number): KnownWord | undefined {
    const { self } = this.#place.table
    if (index === self) return this.#own && { ...this.#own.news(), madeAt: this.#start.clock.now() }
    const member = this.#members[index]
    return member && knownOf(member.word)
  }

  #byName(): [string, MemberEntry][] {
    return this.#members.flatMap(member =>
      member === undefined ? [] : [[member.pin.node as string, member]],
    )
  }

  /** Begin to speak, with other keys or in another zone. */
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
    this.#own = new OwnWord(
      { origin: { zoneHash, id }, ...own, savedEpoch: this.#epoch },
      slot,
      ownContent(table),
      { clock, seed: () => randomBytes(LINK_BYTES), save, nextHeartbeat },
    )
  }

  /** Members whose keys are known, and what of theirs is known by name. */
  #follow(known: ReadonlyMap<string, MemberEntry> = new Map()): void {
    const { zoneHash, table } = this.#place
    const { own, pins } = this.#identities
    for (const member of this.#members) this.#equivocations += member?.word.equivocations ?? 0
    this.#members = table.roster.members.map(({ name, id }, index) => {
      const pin = pins.get(name)
      if (pin === undefined || own === undefined || index === table.self) return undefined
      const old = known.get(name)
      if (old !== undefined && isSamePin(old.pin, pin)) {
        this.#equivocations -= old.word.equivocations
        return { ...old, pin }
      }
      return newMember(pin, { zoneHash, id })
    })
    this.#readAnew()
  }

  /** What the members signed, as the present roster reads it. What they said before they signed grows old by itself. */
  #readAnew(): void {
    const { table } = this.#place
    this.#members.forEach((member, index) => {
      const known = member && knownOf(member.word)
      if (known !== undefined && this.isSigned(index))
        table.put(draftOf(table, this.#draft, index, known))
    })
  }
}

/** `--link-slot` in the unit of statements. */
export const slotOf = (linkSlotMs: number): number => Math.round(linkSlotMs / QUARTER_MS)
