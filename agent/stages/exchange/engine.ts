// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../../core/roster.js'
import { FLAG, type Vote } from '../../../vote/evidence.js'
import { setMaxListeners } from 'node:events'
import { PeerClient } from './peer-client.js'
import type { ExchangeContext } from './context.js'
import type { EngineOptions, EngineSeams } from './seams.js'
import { Gossip } from './gossip.js'
import { Heartbeat } from '../../records/heartbeat.js'
import { Inbox } from './inbox.js'
import type { PeerAnswer } from './replies.js'
import { Intake } from './intake.js'
import type { KeyRing } from '../../key-ring.js'
import { topologyFor } from '../../records/kring.js'
import { Membership } from './membership.js'
import { Partners } from './partners.js'
import type { PeerState } from './peer-state.js'
import { Push } from './push.js'
import { SuperEdgeExchange } from './superedge/superedge.js'
import { Traffic } from './traffic.js'
import { statusOf, type EngineStatus } from './status.js'
import type { Holder } from '../../identity/pins.js'
import type { ZoneIdentities } from '../../results.js'
import { PUSHED_FLAGS } from './urgent.js'
import type { RecordTable } from '../../records/table.js'
import type { MakeTopology } from '../../records/topology.js'
import type { Route } from '../../ports/transport.js'

/** What an engine begins with. */
export interface EngineStart {
  readonly roster: Roster
  /** Without a key there is no exchange: `parseKeyRing` throws rather than let one begin. */
  readonly keys: KeyRing
  /** The value last passed to `saveHeartbeat`; undefined on a node that saved none. */
  readonly savedHeartbeat: number | undefined
  /** The value last passed to `saveEpoch`. @default 0: none */
  readonly savedEpoch?: number | undefined
  /** @default nobody has any */
  readonly identities?: ZoneIdentities | undefined
  /** @default mesh or rings, as the options say */
  readonly topology?: MakeTopology | undefined
}

/**
 * The peer exchange of one agent. Members are roster indices of the present roster. Its parts share one context.
 */
export class Engine {
  readonly #context: ExchangeContext
  readonly #partners: Partners
  readonly #gossip: Gossip
  readonly #push: Push
  readonly #superedge: SuperEdgeExchange
  readonly #intake: Intake
  readonly #stopping = new AbortController()

  /** Nothing is sent before `start`. */
  constructor(options: EngineOptions, start: EngineStart, seams: EngineSeams) {
    this.#context = this.#makeContext(options, start, seams)
    const client = new PeerClient(this.#context)
    this.#partners = new Partners(this.#context)
    this.#gossip = new Gossip(this.#context, client, this.#partners)
    this.#push = new Push(this.#context, client)
    this.#superedge = new SuperEdgeExchange(this.#context)
    const inbox = new Inbox(
      this.#context,
      (target, caller) => this.#push.called(target, caller),
      peer => this.#gossip.askForKeys(peer),
    )
    this.#intake = new Intake(this.#context, { inbox, superedge: this.#superedge })
  }

  /** What is known now; another object after `setRoster`. */
  get table(): RecordTable {
    return this.#membership.table
  }

  /** All bodies sent so far, requests and answers. */
  get bytesSent(): number {
    return this.#context.traffic.bytesSent
  }

  /** Begin to exchange. `receive` works without it. */
  start(): void {
    this.#gossip.start()
    this.#superedge.start()
  }

  /** Goes on with what both rosters share. */
  setRoster(roster: Roster): void {
    this.#membership.setRoster(roster)
    this.#partners.reset()
    this.#push.reset()
    this.#intake.reset()
  }

  setKeys(keys: KeyRing): void {
    this.#membership.setKeys(keys)
  }

  /** Other keys of nodes became known. */
  setIdentities(identities: ZoneIdentities): void {
    this.#membership.setIdentities(identities)
  }

  /** An own round ended. A flip is pushed; peers that called for this vote get it anyway. @returns whether it flipped. */
  setOwnVote(target: number, says: Vote, failedRounds: number): boolean {
    const flipped = this.table.setOwnVote(target, says, failedRounds)
    this.#superedge.probed(target)
    const peer = this.#peer(target)
    // We reached it just now: the exchange need not wait for its back-off to end.
    if (flipped && says !== 'down' && peer !== undefined) peer.backoffUntil = -Infinity
    if (flipped) this.#push.flip(target)
    else this.#push.roundEnded(target)
    return flipped
  }

  /** A member that we need not observe is no longer probed. */
  forgetOwnVote(target: number): void {
    this.table.forgetOwnVote(target)
  }

  /** Call for votes: the other observers probe this member at once. */
  suspect(target: number): void {
    this.#push.suspect(target)
  }

  /** While something is contested; a burst outlives its last cause by `burstMs`. */
  setBurst(on: boolean): void {
    this.#gossip.setBurst(on)
  }

  /** A decision depends on what most members say from now on: renew our own record, and ask several peers at once. */
  askAround(): void {
    this.table.renew()
    this.#gossip.askAround()
  }

  /** As `askAround`, but asks more members: for the agent that the others wait for. */
  askWidely(): void {
    this.table.renew()
    this.#gossip.askWidely()
  }

  /** What the own node says of itself. @param cloudCutAt `Clock.now`; counts only with FLAG.cloudCut. */
  setOwnFlags(flags: number, cloudCutAt: number): void {
    if ((this.table.setOwnFlags(flags, cloudCutAt) & PUSHED_FLAGS) !== 0) this.#push.flags()
  }

  /**
   * The id of the node that signed the last answer from this member's address, which may be our own; `nobody` when no
   * answer was signed, `unasked` while no request has ended.
   */
  signerAt(target: number): bigint | 'nobody' | 'unasked' {
    return this.#peer(target)?.signer ?? 'nobody'
  }

  /** Whether the agent at this member's address has the member's known keys, by what was asked since then. */
  holderAt(target: number, since: number): Holder {
    return this.#peer(target)?.holderSince(since) ?? 'unasked'
  }

  /** Exchange with this member now, unless an exchange is under way. */
  ask(target: number): void {
    const peer = this.#peer(target)
    if (peer !== undefined) this.#gossip.ask(peer)
  }

  /** Ask who is at this member's address, unless that was done; `onSuspect` is called after the answer. */
  identify(target: number): void {
    const peer = this.#peer(target)
    if (peer === undefined || peer.wasAsked) return
    peer.isAwaited = true
    this.#gossip.ask(peer)
  }

  /** The longest body worth reading on this route. */
  maxBytes(route: Route): number {
    return this.#intake.maxBytes(route)
  }

  /** Take in what `from` (an IP address) sent. Synchronous, never throws, whatever the bytes. */
  receive(route: Route, body: Uint8Array, from: string): PeerAnswer {
    return this.#intake.receive(route, body, from)
  }

  /**
   * This agent was suspended: its process was stopped, or its machine was paused or restored to an earlier image of its
   * memory. What it heard of others before is no evidence of the present. Messages that wait to be read, and answers to
   * earlier requests, are challenged or refused instead of believed. Must be called before any waiting message is handed
   * to `receive`.
   */
  resumed(): void {
    this.#membership.resumed()
  }

  /** Tell the others that this node leaves on purpose; resolves within `exchangeTimeoutMs`. */
  async leave(): Promise<void> {
    const { flags, cloudCutAt, self } = this.table
    this.table.setOwnFlags(flags[self]! | FLAG.leaving, cloudCutAt[self]!)
    this.#gossip.stop()
    this.#superedge.stop()
    await this.#push.announce()
  }

  /** Ends all waits. May be called twice. */
  stop(): Promise<void> {
    this.#gossip.stop()
    this.#superedge.stop()
    this.#push.stop()
    this.#stopping.abort()
    return Promise.resolve()
  }

  status(): EngineStatus {
    return statusOf(this.#context, this.#gossip.isBurst)
  }

  get #membership(): Membership {
    return this.#context.membership
  }

  #peer(target: number): PeerState | undefined {
    return this.#membership.peers[target]
  }

  /** The context that the parts share; it calls them only once all of them exist. */
  #makeContext(options: EngineOptions, start: EngineStart, seams: EngineSeams): ExchangeContext {
    const { signal } = this.#stopping
    // One listener per request under way, and those are bounded by the number of peers.
    setMaxListeners(0, signal)
    const traffic = new Traffic(seams.log)
    const membership = new Membership({
      ...{ ...start, options, seams },
      heartbeat: new Heartbeat(seams.clock, start.savedHeartbeat, value =>
        seams.saveHeartbeat(value),
      ),
      makeTopology: start.topology ?? topologyFor(options),
      onNews: news => {
        if (news === 'changed') this.#push.votesCame()
        seams.onEvidence(news)
      },
      onRefusal: (refusal, peer) => traffic.refuse(refusal, peer),
      onUnsigned: peer => this.#gossip.askForKeys(peer),
    })
    const isBurst = (): boolean => this.#gossip.isBurst
    return {
      ...{ options, seams, membership, traffic, signal },
      get isBurst() {
        return isBurst()
      },
      get now() {
        return seams.clock.now()
      },
    }
  }
}
