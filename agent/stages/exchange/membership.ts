// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import type { Roster } from '../../../core/roster.js'
import type { KeyRing } from '../../key-ring.js'
import type { Heartbeat } from '../../records/heartbeat.js'
import { readEntries } from '../../identity/entries.js'
import { makePairKey } from '../../identity/pair-key.js'
import { RecordTable, type News } from '../../records/table.js'
import type { ZoneIdentities } from '../../results.js'
import type { RecordDraft } from '../../records/record-draft.js'
import type { MakeTopology } from '../../records/topology.js'
import { maxEntries, type BodyOrder } from './body.js'
import { BodyReader } from './body-reader.js'
import { BodyWriter } from './body-writer.js'
import type { EngineOptions, EngineSeams } from './seams.js'
import { PeerState } from './peer-state.js'
import type { Refusal } from './refusal.js'
import { makeBoot } from './session.js'
import { bodyOfPair, type BodyFor } from './pair-body.js'
import {
  readSignedBody,
  type NewsEntry,
  type PlacedEntry,
  type ReadSignedBody,
} from './signed-body.js'
import { SPARSE, zoneHash, type Opened } from './wire.js'
import { moreOf, slotOf, Statements } from './statements.js'

/** An authenticated message. */
export type Message = Extract<Opened, { ok: true }>

interface MembershipStart {
  readonly options: EngineOptions
  readonly seams: EngineSeams
  readonly heartbeat: Heartbeat
  readonly makeTopology: MakeTopology
  readonly keys: KeyRing
  readonly roster: Roster
  /** @default nobody has any */
  readonly identities?: ZoneIdentities | undefined
  /** @default 0: none */
  readonly savedEpoch?: number | undefined
  readonly onRefusal: (refusal: Refusal, peer: PeerState) => void
  /** A member whose keys are known seems to send without them. */
  readonly onUnsigned: (peer: PeerState) => void
  /** Called when a message brought something new. */
  readonly onNews: (news: News) => void
}

interface Signed extends ReadSignedBody {
  readonly news: readonly PlacedEntry[]
}

const NOBODY: ZoneIdentities = { own: undefined, pins: new Map() }
/** Share of `--record-ttl` after which a silent member may be believed without its signature: its last record still counts then. */
const SILENT_SHARE = 0.5
/** An unsigned record this much later than the last signed one is later for certain: the ages of both are rounded. */
const UNSIGNED_MS = 2_000

/** Keys that a message may be signed with. */
export type SigningKeys = Pick<KeyRing, 'primary' | 'keys'>

/**
 * The zone as the exchange knows it: who is in it, what each said, how that is read and written, and with which keys.
 * A new roster replaces table, reader, writer and peers at once.
 */
export class Membership {
  readonly #start: MembershipStart
  #boot: bigint
  #keys: KeyRing
  #zone: bigint
  #table: RecordTable
  #reader: BodyReader
  #writer: BodyWriter
  #peers: readonly (PeerState | undefined)[]
  #topSeq = 0
  #identities: ZoneIdentities
  readonly #statements: Statements

  constructor(start: MembershipStart) {
    this.#start = start
    this.#boot = makeBoot(start.seams.random)
    this.#keys = start.keys
    this.#table = this.#makeTable(start.roster)
    this.#reader = new BodyReader(this.#table)
    this.#writer = new BodyWriter(this.#table)
    this.#zone = this.#zoneOf(start.roster)
    this.#peers = this.#peersOf(start.roster, [])
    this.#identities = start.identities ?? NOBODY
    this.#statements = this.#makeStatements()
  }

  /** The own incarnation: of this run, or since `resumed`. */
  get boot(): bigint {
    return this.#boot
  }

  get keys(): KeyRing {
    return this.#keys
  }

  /** What binds a message to this cluster and zone. */
  get zone(): bigint {
    return this.#zone
  }

  get table(): RecordTable {
    return this.#table
  }

  /** Writes the table's records. */
  get writer(): BodyWriter {
    return this.#writer
  }

  get statements(): Statements {
    return this.#statements
  }

  get identities(): ZoneIdentities {
    return this.#identities
  }

  /** By roster index; the own place is empty. */
  get peers(): readonly (PeerState | undefined)[] {
    return this.#peers
  }

  /** Roster index of the own node. */
  get self(): number {
    return this.#table.self
  }

  get ownId(): bigint {
    return this.#table.roster.members[this.self]!.id
  }

  get ownName(): NodeName {
    return this.#table.roster.members[this.self]!.name
  }

  get heartbeat(): number {
    return this.#start.heartbeat.value
  }

  setKeys(keys: KeyRing): void {
    if (keys !== this.#keys) this.#forgetPairs()
    this.#keys = keys
  }

  setIdentities(identities: ZoneIdentities): void {
    this.#identities = identities
    this.#forgetPairs()
    this.#statements.setIdentities(identities)
  }

  /**
   * The keys for messages between this peer and us: those of the pair where both have identities, else those of the zone.
   * The rosters decide, so nobody in between can talk the two down. Undefined: no messages are exchanged.
   */
  keysFor(peer: PeerState): SigningKeys | undefined {
    if (this.#statements.isSigned(peer.index)) return this.pairFor(peer)
    return this.#start.options.identity === 'require' ? undefined : this.#keys
  }

  /** The keys of the pair, used at present or not; undefined while this peer's are not known. */
  pairFor(peer: PeerState): SigningKeys | undefined {
    if (!this.#statements.hasKeys(peer.index)) return undefined
    peer.pair ??= this.#makePair(peer)
    return peer.pair
  }

  /** With `prefer`, whether nothing signed came from the peer for so long that it may answer with the zone's key alone. */
  mayLackKeys(peer: PeerState): boolean {
    const { identity, recordTtlMs } = this.#start.options
    if (identity !== 'prefer' || !this.#statements.hasKeys(peer.index)) return false
    return this.#now - this.#statements.signedAt(peer.index) >= recordTtlMs * SILENT_SHARE
  }

  /** An agent at the peer's address answered with the zone's key: believe the peer by that until it signs again. */
  fallBackToZoneKey(peer: PeerState): void {
    if (!this.#statements.isSigned(peer.index)) return
    this.#start.seams.log.warn('member does not sign: it is believed by the key of the zone', {
      member: peer.name,
    })
    this.#statements.fallBack(peer.index)
  }

  /** Whether messages between this peer and us are signed with the keys of the zone. */
  isShared(peer: PeerState): boolean {
    return this.keysFor(peer) === this.#keys
  }

  /** The keys of all our pairs. Each message to a peer with keys is signed with one of them. */
  get pairKeys(): SigningKeys['keys'] {
    return this.#peers.flatMap(peer => (peer === undefined ? [] : (this.pairFor(peer)?.keys ?? [])))
  }

  #makePair(peer: PeerState): SigningKeys | undefined {
    const { own, pins } = this.#identities
    const pin = pins.get(peer.name)
    if (own === undefined || pin === undefined) return undefined
    const pair = {
      ...{ ownId: this.ownId, ownAgreementKey: own.keys.agreementKey },
      ...{ peerId: peer.id, peerAgreement: pin.keys.agreement, zoneHash: this.#zone },
    }
    const keys = this.#keys.keys.flatMap(shared => makePairKey(pair, shared) ?? [])
    const [primary] = keys
    return primary && { primary, keys }
  }

  #forgetPairs(): void {
    for (const peer of this.#peers) if (peer !== undefined) peer.pair = undefined
  }

  #makeStatements(): Statements {
    const { options, seams, heartbeat, savedEpoch = 0, onRefusal } = this.#start
    const nextHeartbeat = (floor: number): number => {
      heartbeat.refute(floor)
      return heartbeat.next()
    }
    const start = {
      ...{ clock: seams.clock, slot: slotOf(options.linkSlotMs), savedEpoch, nextHeartbeat },
      saveEpoch: (epoch: number) => seams.saveEpoch(epoch),
      onUnknownIdentity: (name: NodeName) => seams.onUnknownIdentity(name),
      onRefusal,
    }
    return new Statements(start, { zoneHash: this.#zone, table: this.#table }, this.#identities)
  }

  setRoster(roster: Roster): void {
    this.#table = this.#makeTable(roster, this.#table)
    this.#reader = new BodyReader(this.#table)
    this.#writer = new BodyWriter(this.#table)
    this.#zone = this.#zoneOf(roster)
    this.#peers = this.#peersOf(roster, this.#peers)
    this.#forgetPairs()
    this.#statements.move({ zoneHash: this.#zone, table: this.#table })
  }

  /** Go on after a time in which this agent did not run; see `Engine.resumed`. */
  resumed(): void {
    this.#boot = makeBoot(this.#start.seams.random)
    for (const peer of this.#peers) peer?.inbound.forget()
    this.#table.forgetAges()
    this.#statements.resumed()
  }

  /** Bring the own record up to date; called before it is sent. */
  speak(): void {
    this.#table.beat()
    this.#statements.say()
  }

  /** The number of the next request to this peer. */
  nextSeq(peer: PeerState): number {
    peer.seq++
    this.#topSeq = Math.max(this.#topSeq, peer.seq)
    return peer.seq
  }

  peerById(id: bigint): PeerState | undefined {
    const index = this.#table.roster.indexOfId(id)
    return index === undefined ? undefined : this.#peers[index]
  }

  /**
   * Take in what an authenticated message says: all of it or, when any of it is malformed, nothing.
   * A dense message about another roster is not malformed, its records just cannot be read.
   * @param asOf an instant at which it was not made yet: ages count from then, so nothing is believed younger than it is.
   * @returns whom to probe, as roster indices; undefined when malformed.
   */
  take(message: Message, peer: PeerState, asOf: number): readonly number[] | undefined {
    const { header, body } = message
    peer.rosterHash = header.membershipHash
    peer.keyId = message.keyId
    if (!this.#reader.canRead(header)) return []
    const signed = message.isOfPair ? this.#readSigned(message) : undefined
    if (message.isOfPair && signed === undefined) return undefined
    if (message.isOfPair) this.#statements.endFallback(peer.index)
    const shared = signed?.shared ?? body
    let said: News | undefined
    // Unsigned records are believed only about members that sign nothing.
    const merge = (draft: RecordDraft): void => {
      if (this.#statements.isSigned(draft.origin)) {
        this.#hearUnsigned(draft)
        return
      }
      const merged = this.#table.merge(draft, draft.origin === peer.index)
      if (merged !== 'old') said = moreOf(said, merged)
    }
    const take = this.#start.options.identity === 'require' ? undefined : merge
    const head = this.#reader.read(header, shared, asOf, take)
    if (head === undefined) return undefined
    peer.keySetHash = head.keySetHash
    const news = moreOf(said, signed && this.#takeSigned(signed, peer, asOf))
    if (news !== undefined) this.#start.onNews(news)
    return head.suspects
  }

  /** A peer passed on an unsigned record of a member that should sign: it may have lost its keys, so it is asked. */
  #hearUnsigned({ origin, producedAt }: RecordDraft): void {
    const peer = this.#peers[origin]
    if (peer === undefined || !this.mayLackKeys(peer)) return
    if (producedAt > this.#statements.signedAt(origin) + UNSIGNED_MS) this.#start.onUnsigned(peer)
  }

  #takeSigned(signed: Signed, peer: PeerState, asOf: number): News | undefined {
    const now = this.#now
    this.#takeDigest(signed, peer, now)
    return this.#statements.take(signed.news, peer, now - asOf)
  }

  /** Undefined when any of it is malformed. */
  #readSigned({ header, body }: Message): Signed | undefined {
    const { size, roster } = this.#table
    const signed = readSignedBody(body, header.flags === SPARSE)
    if (signed === undefined) return undefined
    const { ids, digest, entries } = signed
    const count = ids?.length ?? size
    if (count > maxEntries(size) || (digest.length !== 0 && digest.length !== count))
      return undefined
    const news: PlacedEntry[] = []
    const isRead = readEntries(entries, count, (at, entry) => {
      const place = ids === undefined ? at : roster.indexOfId(ids[at]!)
      if (place !== undefined) news.push({ place, entry })
    })
    return isRead ? { ...signed, news } : undefined
  }

  #takeDigest({ ids, digest }: ReadSignedBody, peer: PeerState, now: number): void {
    if (digest.length === 0) return
    const own = ids === undefined ? Buffer.from(digest) : Buffer.alloc(this.#table.size)
    ids?.forEach((id, at) => {
      const index = this.#table.roster.indexOfId(id)
      if (index !== undefined) own[index] = digest[at]!
    })
    peer.noteDigest(own, now)
  }

  /**
   * A body for a peer that we share the keys of a pair with.
   * @param isAsking say what we know, so that the peer answers with the rest
   */
  bodyOfPair(order: BodyOrder, news: readonly NewsEntry[], isAsking: boolean): BodyFor {
    const [table, statements, writer] = [this.#table, this.#statements, this.#writer]
    return bodyOfPair({ table, statements, writer, now: this.#now }, order, news, isAsking)
  }

  get #now(): number {
    return this.#start.seams.clock.now()
  }

  #makeTable(roster: Roster, previous?: RecordTable): RecordTable {
    const { options, seams, heartbeat, makeTopology } = this.#start
    const { recordTtlMs } = options
    const tableSeams = { clock: seams.clock, heartbeat, recordTtlMs }
    return new RecordTable(roster, makeTopology(roster), tableSeams, previous)
  }

  #zoneOf(roster: Roster): bigint {
    return zoneHash(this.#start.options.clusterId, roster.zone)
  }

  #peersOf(
    roster: Roster,
    before: readonly (PeerState | undefined)[],
  ): readonly (PeerState | undefined)[] {
    const { port } = this.#start.options
    const byId = new Map(before.map(peer => [peer?.id, peer]))
    return roster.members.map((member, index) => {
      if (index === roster.self) return undefined
      const known = byId.get(member.id)
      known?.moveTo(member, index)
      if (known !== undefined) known.digest = undefined
      // A peer that left and came back still remembers our numbers: begin above all that were ever used.
      return known ?? new PeerState(member, { index, port, seq: this.#topSeq })
    })
  }
}
