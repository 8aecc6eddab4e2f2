// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { Roster } from '../../../core/roster.js'
import type { ExchangeOptions } from '../../options/agent-options.js'
import { BodyCodec } from './body.js'
import type { Heartbeat } from '../../records/heartbeat.js'
import type { KeyRing } from '../../key-ring.js'
import { PeerState } from './peer-state.js'
import { RefusalCounts, type Refusal } from './refusal.js'
import { makeBoot } from './session.js'
import { RecordTable, type News } from '../../records/table.js'
import type { MakeTopology } from '../../records/topology.js'
import type { Transport } from '../../ports/transport.js'
import { zoneHash, type Opened } from './wire.js'

/** What the exchange is told; times in milliseconds. */
export interface EngineOptions extends ExchangeOptions {
  /** Where all agents of the zone listen for peers. */
  readonly port: number
  /** How long a record counts. */
  readonly recordTtlMs: number
}

/** The world as the exchange sees it. */
export interface EngineSeams {
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Records came in: judge again, if what is new about them matters. May be called often. */
  onEvidence(news: News): void
  /** Another observer calls for votes: probe this node now, and report the round with `setOwnVote`. */
  onSuspect(target: NodeName): void
  /**
   * More time went by for a peer than for us: this machine stood still, or was put back to an older state, while its
   * own clocks show nothing. Answered with `resumed`, or ignored.
   */
  onSuspended(): void
  /** Keep this number for the next start; called at most every 30 s. */
  saveHeartbeat(heartbeat: number): void
  /** The local view, as SuperEdge peers are told it. */
  localUp(target: number): boolean
}

/** An authenticated message. */
export type Message = Extract<Opened, { ok: true }>

/** What all parts of the exchange share. The engine owns it; a new roster replaces table, codec and peers at once. */
export class Exchange {
  readonly o: EngineOptions
  readonly seams: EngineSeams
  /** The own incarnation: of this run, or since `resumed`. */
  boot: bigint
  readonly life = new AbortController()
  readonly refusals = new RefusalCounts()
  /** Told when somebody's votes or flags are others than before. */
  onChange: () => void = () => undefined
  bytesSent = 0
  bytesReceived = 0
  messagesSent = 0
  messagesReceived = 0
  keys: KeyRing
  zone = 0n
  table!: RecordTable
  codec!: BodyCodec
  /** By roster index; the own place is empty. */
  peers: readonly (PeerState | undefined)[] = []
  readonly #heartbeat: Heartbeat
  readonly #makeTopology: MakeTopology
  #topSeq = 0

  constructor(
    start: {
      o: EngineOptions
      seams: EngineSeams
      keys: KeyRing
      heartbeat: Heartbeat
      topology: MakeTopology
    },
    roster: Roster,
  ) {
    this.o = start.o
    this.seams = start.seams
    this.keys = start.keys
    this.boot = makeBoot(start.seams.random)
    this.#heartbeat = start.heartbeat
    this.#makeTopology = start.topology
    // One listener per request under way, and those are bounded by the number of peers.
    setMaxListeners(0, this.life.signal)
    this.setRoster(roster)
  }

  get now(): number {
    return this.seams.clock.now()
  }

  /**
   * How long a request may have been under way: its sender gives up after one time limit, and waited for the number
   * that it shows for at most another.
   */
  get maxDelayMs(): number {
    return 2 * this.o.exchangeTimeoutMs
  }

  get self(): number {
    return this.table.self
  }

  get heartbeat(): number {
    return this.#heartbeat.value
  }

  setRoster(roster: Roster): void {
    const topology = this.#makeTopology(roster)
    const { recordTtlMs } = this.o
    const seams = { clock: this.seams.clock, heartbeat: this.#heartbeat, recordTtlMs }
    const before = new Map(this.peers.map(peer => [peer?.id, peer]))
    this.table = new RecordTable(
      roster,
      topology,
      seams,
      this.peers.length > 0 ? this.table : undefined,
    )
    this.codec = new BodyCodec(this.table)
    this.zone = zoneHash(this.o.clusterId, roster.zone)
    this.peers = roster.members.map((member, index) => {
      if (index === roster.self) return undefined
      const known = before.get(member.id)
      known?.moveTo(member, index)
      // A peer that left and came back still remembers our numbers: begin above all that were ever used.
      return known ?? new PeerState(member, { index, port: this.o.port, seq: this.#topSeq })
    })
  }

  /** Go on after a time in which this agent did not run; see `Engine.resumed`. */
  resumed(): void {
    this.boot = makeBoot(this.seams.random)
    for (const peer of this.peers) peer?.inbound.forget()
    this.table.forgetAges()
  }

  /** The number of the next request to this peer. */
  nextSeq(peer: PeerState): number {
    peer.seq++
    this.#topSeq = Math.max(this.#topSeq, peer.seq)
    return peer.seq
  }

  peerById(id: bigint): PeerState | undefined {
    const index = this.table.roster.indexOfId(id)
    return index === undefined ? undefined : this.peers[index]
  }

  /** Count a refusal, and log the first of its kind of each peer. */
  refuse(refusal: Refusal, peer?: PeerState): void {
    this.refusals.add(refusal)
    const count = peer?.refusals.add(refusal)
    if (count === 1) this.seams.log.warn('peer message refused', { peer: peer?.name, refusal })
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
    if (!this.codec.canRead(header)) return []
    const head = this.codec.read(header, body, asOf)
    if (head === undefined) return undefined
    peer.keySetHash = head.keySetHash
    let fresh = 0
    let changed = 0
    this.codec.read(header, body, asOf, draft => {
      const merged = this.table.merge(draft, draft.origin === peer.index)
      if (merged !== 'old') fresh++
      if (merged === 'changed') changed++
    })
    if (changed > 0) this.onChange()
    if (fresh > 0) this.seams.onEvidence(changed > 0 ? 'changed' : 'fresher')
    return head.suspects
  }
}
