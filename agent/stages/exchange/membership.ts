// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../../core/roster.js'
import type { KeyRing } from '../../key-ring.js'
import type { Heartbeat } from '../../records/heartbeat.js'
import { RecordTable, type News } from '../../records/table.js'
import type { MakeTopology } from '../../records/topology.js'
import { BodyCodec } from './body.js'
import type { EngineOptions, EngineSeams } from './seams.js'
import { PeerState } from './peer-state.js'
import { makeBoot } from './session.js'
import { zoneHash, type Opened } from './wire.js'

/** An authenticated message. */
export type Message = Extract<Opened, { ok: true }>

interface MembershipStart {
  readonly options: EngineOptions
  readonly seams: EngineSeams
  readonly heartbeat: Heartbeat
  readonly makeTopology: MakeTopology
  readonly keys: KeyRing
  readonly roster: Roster
  /** Told when a message brought something. */
  readonly onNews: (news: News) => void
}

/**
 * The zone as the exchange knows it: who is in it, what each said, how that is read and written, and with which keys.
 * A new roster replaces table, codec and peers at once.
 */
export class Membership {
  readonly #start: MembershipStart
  #boot: bigint
  #keys: KeyRing
  #zone: bigint
  #table: RecordTable
  #codec: BodyCodec
  #peers: readonly (PeerState | undefined)[]
  #topSeq = 0

  constructor(start: MembershipStart) {
    this.#start = start
    this.#boot = makeBoot(start.seams.random)
    this.#keys = start.keys
    this.#table = this.#makeTable(start.roster)
    this.#codec = new BodyCodec(this.#table)
    this.#zone = this.#zoneOf(start.roster)
    this.#peers = this.#peersOf(start.roster, [])
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

  get codec(): BodyCodec {
    return this.#codec
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

  get heartbeat(): number {
    return this.#start.heartbeat.value
  }

  setKeys(keys: KeyRing): void {
    this.#keys = keys
  }

  setRoster(roster: Roster): void {
    this.#table = this.#makeTable(roster, this.#table)
    this.#codec = new BodyCodec(this.#table)
    this.#zone = this.#zoneOf(roster)
    this.#peers = this.#peersOf(roster, this.#peers)
  }

  /** Go on after a time in which this agent did not run; see `Engine.resumed`. */
  resumed(): void {
    this.#boot = makeBoot(this.#start.seams.random)
    for (const peer of this.#peers) peer?.inbound.forget()
    this.#table.forgetAges()
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
    if (!this.#codec.canRead(header)) return []
    const head = this.#codec.read(header, body, asOf)
    if (head === undefined) return undefined
    peer.keySetHash = head.keySetHash
    let news: News | undefined
    this.#codec.read(header, body, asOf, draft => {
      const merged = this.#table.merge(draft, draft.origin === peer.index)
      if (merged !== 'old' && news !== 'changed') news = merged
    })
    if (news !== undefined) this.#start.onNews(news)
    return head.suspects
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
      // A peer that left and came back still remembers our numbers: begin above all that were ever used.
      return known ?? new PeerState(member, { index, port, seq: this.#topSeq })
    })
  }
}
