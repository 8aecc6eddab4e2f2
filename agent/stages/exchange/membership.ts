// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import type { Roster } from '../../../core/roster.js'
import type { KeyRing } from '../../key-ring.js'
import type { Heartbeat } from '../../records/heartbeat.js'
import { RecordTable, type News } from '../../records/table.js'
import type { ZoneIdentities } from '../../results.js'
import type { MakeTopology } from '../../records/topology.js'
import type { BodyOrder } from './body.js'
import { BodyWriter } from './body-writer.js'
import { MessageReader, type Message } from './message-reader.js'
import { PeerKeys, type Place, type SigningKeys } from './peer-keys.js'
import type { EngineOptions, EngineSeams } from './seams.js'
import type { PeerState } from './peer-state.js'
import { Peers, type PeerList } from './peers.js'
import type { Refusal } from './refusal.js'
import { makeBoot } from './session.js'
import { bodyOfPair, type BodyFor } from './pair-body.js'
import type { NewsEntry } from './signed-body.js'
import { zoneHash } from './wire.js'
import { slotOf } from '../../identity/statement.js'
import { Statements } from './statements.js'

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

const NOBODY: ZoneIdentities = { own: undefined, pins: new Map() }

/**
 * The zone as the exchange knows it: who is in it, what each said, how that is read and written, and with which keys.
 * A new roster replaces table, reader, writer and peers at once.
 */
export class Membership {
  readonly #start: MembershipStart
  #boot: bigint
  #zone: bigint
  #table: RecordTable
  #reader: MessageReader
  #writer: BodyWriter
  readonly #peers: Peers
  readonly #statements: Statements
  readonly #keys: PeerKeys

  constructor(start: MembershipStart) {
    this.#start = start
    this.#boot = makeBoot(start.seams.random)
    this.#table = this.#makeTable(start.roster)
    this.#writer = new BodyWriter(this.#table)
    this.#zone = this.#zoneOf(start.roster)
    this.#peers = new Peers(start.options.port, start.roster)
    const { options, seams, keys, identities = NOBODY } = start
    this.#statements = this.#makeStatements(identities)
    this.#keys = new PeerKeys(
      { ...{ options, keys, identities }, ...seams, statements: this.#statements },
      this.#place,
    )
    this.#reader = this.#makeReader()
  }

  /** The own incarnation: of this run, or since `resumed`. */
  get boot(): bigint {
    return this.#boot
  }

  get keys(): KeyRing {
    return this.#keys.shared
  }

  /** What binds a message to this cluster and zone. */
  get zone(): bigint {
    return this.#zone
  }

  get table(): RecordTable {
    return this.#table
  }

  get writer(): BodyWriter {
    return this.#writer
  }

  get statements(): Statements {
    return this.#statements
  }

  get peers(): PeerList {
    return this.#peers.list
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
    this.#keys.setShared(keys)
  }

  setIdentities(identities: ZoneIdentities): void {
    this.#keys.setIdentities(identities)
    this.#statements.setIdentities(identities)
  }

  // See `PeerKeys` for these.
  keysFor(peer: PeerState): SigningKeys | undefined {
    return this.#keys.for(peer)
  }

  pairFor(peer: PeerState): SigningKeys | undefined {
    return this.#keys.pairFor(peer)
  }

  get pairKeys(): SigningKeys['keys'] {
    return this.#keys.ofPairs
  }

  mayLackKeys(peer: PeerState): boolean {
    return this.#keys.mayBeLost(peer)
  }

  hasLeft(peer: PeerState): boolean {
    return this.#keys.hasLeft(peer)
  }

  lacksOurKeys(peer: PeerState): boolean {
    return this.#keys.lacksOurs(peer)
  }

  acceptZoneKey(peer: PeerState, isOldVersion: boolean): boolean {
    return this.#keys.acceptZoneKey(peer, isOldVersion)
  }

  get identities(): ZoneIdentities {
    return this.#keys.identities
  }

  /** Whether messages between this peer and us are signed with the keys of the zone. */
  isShared(peer: PeerState): boolean {
    return this.keysFor(peer) === this.keys
  }

  setRoster(roster: Roster): void {
    this.#table = this.#makeTable(roster, this.#table)
    this.#writer = new BodyWriter(this.#table)
    this.#zone = this.#zoneOf(roster)
    this.#peers.setRoster(roster)
    this.#keys.move(this.#place)
    this.#statements.move({ zoneHash: this.#zone, table: this.#table })
    this.#reader = this.#makeReader()
  }

  /** Go on after a time in which this agent did not run; see `Engine.resumed`. */
  resumed(): void {
    this.#boot = makeBoot(this.#start.seams.random)
    for (const peer of this.peers) peer?.inbound.forget()
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
    return this.#peers.nextSeq(peer)
  }

  peerById(id: bigint): PeerState | undefined {
    const index = this.#table.roster.indexOfId(id)
    return index === undefined ? undefined : this.peers[index]
  }

  /** See `MessageReader.take`. */
  take(message: Message, peer: PeerState, asOf: number): readonly number[] | undefined {
    return this.#reader.take(message, peer, asOf)
  }

  /**
   * A body for a peer with which we have the keys of a pair.
   * @param isAsking say what we know, so that the peer answers with the rest
   */
  bodyOfPair(order: BodyOrder, news: readonly NewsEntry[], isAsking: boolean): BodyFor {
    const [table, statements, writer] = [this.#table, this.#statements, this.#writer]
    return bodyOfPair(
      { table, statements, writer, now: this.#start.seams.clock.now() },
      order,
      news,
      isAsking,
    )
  }

  get #place(): Place {
    return { zoneHash: this.#zone, ownId: this.ownId, peers: this.peers }
  }

  #makeStatements(identities: ZoneIdentities): Statements {
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
    return new Statements(start, { zoneHash: this.#zone, table: this.#table }, identities)
  }

  #makeReader(): MessageReader {
    const { options, seams, onUnsigned, onNews } = this.#start
    return new MessageReader({
      ...{ options, table: this.#table, peers: this.peers, statements: this.#statements },
      ...{ keys: this.#keys, clock: seams.clock, onUnsigned, onNews },
    })
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
}
