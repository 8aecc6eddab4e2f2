// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../../core/roster.js'
import { FLAG, type Vote } from '../../../vote/evidence.js'
import { setMaxListeners } from 'node:events'
import { maxMessageBytes } from './body.js'
import { PeerClient } from './peer-client.js'
import type { ExchangeContext } from './context.js'
import type { EngineOptions, EngineSeams } from './seams.js'
import { Gossip } from './gossip.js'
import { Heartbeat } from '../../records/heartbeat.js'
import { Inbox, refusalAnswer, type PeerAnswer } from './inbox.js'
import type { KeyRing } from '../../key-ring.js'
import { topologyFor } from '../../records/kring.js'
import { Membership } from './membership.js'
import { Partners } from './partners.js'
import { AT_ONCE, PER_SECOND, type PeerState } from './peer-state.js'
import { Push } from './push.js'
import { RateLimit } from './rate-limit.js'
import { SuperEdgeExchange } from './superedge/superedge.js'
import { Traffic } from './traffic.js'
import { statusOf, type EngineStatus } from './status.js'
import type { Refusal } from './refusal.js'
import { MAX_SIGNED_BYTES } from './signed-body.js'
import type { Holder } from '../../identity/pins.js'
import type { ZoneIdentities } from '../../results.js'
import { PUSHED_FLAGS } from './urgent.js'
import type { News, RecordTable } from '../../records/table.js'
import type { MakeTopology } from '../../records/topology.js'
import type { Route } from '../../ports/transport.js'

/** What an engine begins with. */
export interface EngineStart {
  readonly roster: Roster
  /** Without a key there is no exchange: `parseKeyRing` throws rather than let one begin. */
  readonly keys: KeyRing
  /** What `saveHeartbeat` was last given; undefined on a node without memory. */
  readonly savedHeartbeat: number | undefined
  /** What `saveEpoch` was last given. @default 0: nothing */
  readonly savedEpoch?: number | undefined
  /** @default nobody has any */
  readonly identities?: ZoneIdentities | undefined
  /** @default mesh or rings, as the options say */
  readonly topology?: MakeTopology | undefined
}

/** The peer exchange of one agent. Members are roster indices of the present roster. */
export interface Engine {
  /** What is known now; another object after `setRoster`. */
  readonly table: RecordTable
  /** All bodies sent so far, requests and answers. */
  readonly bytesSent: number
  /** Begin to exchange. `receive` works without it. */
  start(): void
  /** Goes on with what both rosters share. */
  setRoster(roster: Roster): void
  setKeys(keys: KeyRing): void
  /** Other keys of nodes became known. */
  setIdentities(identities: ZoneIdentities): void
  /** An own round ended. A flip is pushed; whoever called for this vote gets it in any case. @returns whether it flipped. */
  setOwnVote(target: number, says: Vote, failedRounds: number): boolean
  /** A member that we had no duty to probe is not probed any more. */
  forgetOwnVote(target: number): void
  /** Call for votes: the other observers probe this member at once. */
  suspect(target: number): void
  /** While something is contested; a burst outlives its last cause by `burstMs`. */
  setBurst(on: boolean): void
  /** Something hangs on what most members say from now on: say it again ourselves, and ask several at once. */
  askAround(): void
  /** What the own node says of itself. @param cloudCutAt `Clock.now`; counts only with FLAG.cloudCut. */
  setOwnFlags(flags: number, cloudCutAt: number): void
  /**
   * The id of who signed the last answer from this member's address, be it our own; `nobody` when it was asked and
   * nobody signed, `unasked` while no request has ended.
   */
  signerAt(target: number): bigint | 'nobody' | 'unasked'
  /** Whether who is at this member's address has the keys that are known of it: asked since then. */
  holderAt(target: number, since: number): Holder
  /** Exchange with this member now, unless that is under way. */
  ask(target: number): void
  /** Ask at this member's address, unless that was done; `onSuspect` is called with the answer. */
  identify(target: number): void
  /** The longest body worth reading on this route. */
  maxBytes(route: Route): number
  /** Take in what `from` (an IP address) sent. Synchronous, never throws, whatever the bytes. */
  receive(route: Route, body: Uint8Array, from: string): PeerAnswer
  /**
   * This agent was suspended: its process was stopped, or its machine was paused, or put back to an earlier image of its
   * memory. What it heard of others is from before, and is no evidence of the present. Whatever waits to be read, and
   * every answer to what was asked before, is challenged or refused instead of believed. To be called before anything
   * that waits is handed to `receive`.
   */
  resumed(): void
  /** Tell the others that this node leaves on purpose; resolves within `exchangeTimeoutMs`. */
  leave(): Promise<void>
  /** Ends all waits. May be called twice. */
  stop(): Promise<void>
  status(): EngineStatus
}

/**
 * Bytes whose signature is proved for one address, in a second and at once: 6 ms of CPU at most. It is far more than
 * members send, since whoever sends from a member's address, without a key, uses up the same. Small messages come in
 * while large ones wait, and more small ones than this is for cannot be received in a second.
 */
const PROVED_BYTES = 8 << 20
/** A short message costs as much as this. */
const LEAST_PROVED_BYTES = 256

/** Members that speak without their keys are asked for them: all together in a second and at once, and each this often. */
const UNSIGNED_PER_SECOND = 2
const UNSIGNED_AT_ONCE = 8
const UNSIGNED_MS = 1_000

/** IPv4 addresses look like this on a socket that takes both families. */
const MAPPED = '::ffff:'

const addressOf = (from: string): string =>
  from.startsWith(MAPPED) ? from.slice(MAPPED.length) : from

/** Build the exchange; nothing is sent before `start`. */
export const makeEngine = (
  options: EngineOptions,
  start: EngineStart,
  seams: EngineSeams,
): Engine => {
  const heartbeat = new Heartbeat(seams.clock, start.savedHeartbeat, value =>
    seams.saveHeartbeat(value),
  )
  const makeTopology = start.topology ?? topologyFor(options)
  const onNews = (news: News): void => {
    if (news === 'changed') push.votesCame()
    seams.onEvidence(news)
  }
  const traffic = new Traffic(seams.log)
  const onRefusal = (refusal: Refusal, peer: PeerState): void => traffic.refuse(refusal, peer)
  const unsigned = new RateLimit(0, UNSIGNED_PER_SECOND, UNSIGNED_AT_ONCE)
  const onUnsigned = (peer: PeerState): void => {
    const { now } = context
    if (now - peer.lastSentAt >= UNSIGNED_MS && unsigned.take(undefined, now)) gossip.ask(peer)
  }
  const membership = new Membership({
    ...{ ...start, options, seams, heartbeat, makeTopology },
    ...{ onNews, onRefusal, onUnsigned },
  })
  const stopping = new AbortController()
  const { signal } = stopping
  // One listener per request under way, and those are bounded by the number of peers.
  setMaxListeners(0, signal)
  const context: ExchangeContext = {
    ...{ options, seams, membership, traffic, signal },
    get isBurst() {
      return gossip.isBurst
    },
    get now() {
      return seams.clock.now()
    },
  }
  const client = new PeerClient(context)
  const partners = new Partners(context)
  const gossip = new Gossip(context, client, partners)
  const push = new Push(context, client)
  const superedge = new SuperEdgeExchange(context)
  const inbox = new Inbox(context, (target, caller) => push.called(target, caller), onUnsigned)
  const makeLimits = () => ({
    proved: new RateLimit(membership.table.size, PROVED_BYTES, PROVED_BYTES),
    // SuperEdge's results are parsed before their signature is proved.
    results: new RateLimit(membership.table.size, PER_SECOND, AT_ONCE),
  })
  let limits = makeLimits()
  const leastMax = options.identity === 'off' ? 0 : MAX_SIGNED_BYTES

  const setOwnFlags = (flags: number, cloudCutAt: number): void => {
    if ((membership.table.setOwnFlags(flags, cloudCutAt) & PUSHED_FLAGS) !== 0) push.flags()
  }
  const isInTime = (route: Route, bytes: number, from: number | undefined): boolean =>
    route === 'result'
      ? limits.results.take(from, seams.clock.now())
      : limits.proved.take(from, seams.clock.now(), Math.max(LEAST_PROVED_BYTES, bytes))
  const maxBytes = (route: Route): number =>
    route === 'result'
      ? superedge.maxBytes
      : Math.max(maxMessageBytes(membership.table.size), leastMax)

  return {
    get table() {
      return membership.table
    },
    get bytesSent() {
      return traffic.bytesSent
    },
    start: () => {
      gossip.start()
      superedge.start()
    },
    setRoster: roster => {
      membership.setRoster(roster)
      partners.reset()
      push.reset()
      limits = makeLimits()
    },
    setKeys: keys => {
      membership.setKeys(keys)
    },
    setIdentities: identities => {
      membership.setIdentities(identities)
    },
    setOwnVote: (target, says, failedRounds) => {
      const flipped = membership.table.setOwnVote(target, says, failedRounds)
      superedge.probed(target)
      const peer = membership.peers[target]
      // We reached it just now: the exchange need not wait for its back-off to end.
      if (flipped && says !== 'down' && peer !== undefined) peer.backoffUntil = -Infinity
      if (flipped) push.flip(target)
      else push.roundEnded(target)
      return flipped
    },
    forgetOwnVote: target => membership.table.forgetOwnVote(target),
    suspect: target => push.suspect(target),
    setBurst: on => gossip.setBurst(on),
    askAround: () => {
      membership.table.renew()
      gossip.askAround()
    },
    setOwnFlags,
    signerAt: target => {
      const peer = membership.peers[target]
      if (peer === undefined) return 'nobody'
      return peer.wasAsked ? (peer.lastSigner ?? 'nobody') : 'unasked'
    },
    holderAt: (target, since) => {
      const peer = membership.peers[target]
      if (peer === undefined) return 'unasked'
      if (peer.provedAt >= since) return 'answered'
      // One may be lost on the way.
      return Math.min(...peer.endedAt) >= since ? 'silent' : 'unasked'
    },
    ask: target => {
      const peer = membership.peers[target]
      if (peer !== undefined) gossip.ask(peer)
    },
    identify: target => {
      const peer = membership.peers[target]
      if (peer === undefined || peer.wasAsked) return
      peer.isAwaited = true
      gossip.ask(peer)
    },
    maxBytes,
    receive: (route, body, from) => {
      const index = membership.table.roster.indexOfAddress(addressOf(from))
      traffic.requestCame()
      const refusal =
        body.length > maxBytes(route)
          ? 'too-large'
          : isInTime(route, body.length, index)
            ? undefined
            : 'too-fast'
      if (refusal !== undefined) {
        traffic.refuse(refusal, index === undefined ? undefined : membership.peers[index])
        return refusalAnswer(refusal)
      }
      traffic.received(body.length)
      return route === 'result' ? superedge.receive(body, index) : inbox.receive(route, body)
    },
    resumed: () => membership.resumed(),
    leave: async () => {
      const { flags, cloudCutAt, self } = membership.table
      membership.table.setOwnFlags(flags[self]! | FLAG.leaving, cloudCutAt[self]!)
      gossip.stop()
      superedge.stop()
      await push.announce()
    },
    stop: () => {
      gossip.stop()
      superedge.stop()
      push.stop()
      stopping.abort()
      return Promise.resolve()
    },
    status: () => statusOf(context, gossip.isBurst),
  }
}
