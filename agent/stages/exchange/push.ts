// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import { shuffle } from '../../../core/random.js'
import { keepOnly } from '../../keep-only.js'
import { MAX_SUSPECTS } from './body.js'
import { Batch } from './batch.js'
import type { PeerClient } from './peer-client.js'
import type { ExchangeContext } from './context.js'
import type { PeerState } from './peer-state.js'
import { Rumour } from './rumour.js'

/** One event goes to at most so many, chosen by chance; each passes on all it knows, and bursts do the rest. */
const FANOUT = 64
/** Whoever heard so many others call for votes on a node within CALL_QUIET_MS need not call again. */
const CALLS_ENOUGH = 2
const CALL_QUIET_MS = 2_000
/** The same agent calls for votes on the same node at most this often. */
const CALL_EVERY_MS = 1_000
/** Between two rounds of a rumour. */
const RUMOUR_EVERY_MS = 200
/** Callers remembered for one node. */
const MAX_CALLERS = FANOUT
/** The same node is handed to the prober at most this often. */
const PROBE_EVERY_MS = 1_000

/** One peer's pushes: one at a time; what comes meanwhile goes together afterwards. */
interface Lane {
  isBusy: boolean
  isWanted: boolean
  readonly suspects: Set<NodeName>
}

/** Calls for votes on one node. */
interface Calls {
  /** Who called, and when last; a few are enough. */
  readonly heard: Map<PeerState, number>
  /** Callers that get our vote when our round ends. */
  readonly owed: Set<PeerState>
  /** When we called, and when we began to probe because others did. */
  calledAt: number
  probedAt: number
}

const newLane = (): Lane => ({ isBusy: false, isWanted: false, suspects: new Set() })

/** Event push: flips, flags and calls for votes go straight to whom they concern. */
export class Push {
  readonly #context: ExchangeContext
  readonly #client: PeerClient
  readonly #lanes = new Map<PeerState, Lane>()
  readonly #calls = new Map<NodeName, Calls>()
  /** What the next batch is about. */
  readonly #flipped = new Set<NodeName>()
  readonly #suspects = new Set<NodeName>()
  readonly #callers = new Set<PeerState>()
  readonly #rumour: Rumour
  #toAll = false
  #cancel: (() => void) | undefined

  constructor(context: ExchangeContext, client: PeerClient) {
    this.#context = context
    this.#client = client
    this.#rumour = new Rumour(context)
  }

  /** The own vote on this member flipped. */
  flip(target: number): void {
    this.#flipped.add(this.#nameOf(target))
    this.#answer(target)
    this.#rumour.hear()
    this.#arm()
  }

  /** Votes of others came in. */
  votesCame(): void {
    if (this.#rumour.hear()) this.#arm()
  }

  /** Something about the own node changed. */
  flags(): void {
    this.#toAll = true
    this.#arm()
  }

  /** Ask the other observers to probe this member now, unless we or enough others did so lately. */
  suspect(target: number): void {
    const calls = this.#callsOn(this.#nameOf(target))
    const now = this.#context.now
    let recent = 0
    for (const at of calls.heard.values()) if (now - at < CALL_QUIET_MS) recent++
    if (recent >= CALLS_ENOUGH || now - calls.calledAt < CALL_EVERY_MS) return
    calls.calledAt = now
    this.#suspects.add(this.#nameOf(target))
    this.#arm()
  }

  /** A member called for our vote. */
  called(target: number, caller: PeerState): void {
    const { topology, self } = this.#context.membership.table
    if (target === self || topology.slotOf(self, target) < 0) return
    const name = this.#nameOf(target)
    const calls = this.#callsOn(name)
    const now = this.#context.now
    if (calls.heard.size < MAX_CALLERS || calls.heard.has(caller)) calls.heard.set(caller, now)
    if (calls.owed.size < MAX_CALLERS) calls.owed.add(caller)
    if (now - calls.probedAt < PROBE_EVERY_MS) return
    calls.probedAt = now
    this.#context.seams.onSuspect(name)
  }

  /**
   * The own round on this member ended: whoever called for it and says that it is down hears that we agree, or still
   * do not. That all is well as before is no news to others.
   */
  roundEnded(target: number): void {
    if (this.#answer(target)) this.#arm()
  }

  /** The roster changed: forget calls, and whom it does not name. */
  reset(): void {
    this.#calls.clear()
    this.#rumour.reset()
    const isKept = (peer: PeerState): boolean => this.#isMember(peer)
    keepOnly(this.#lanes, isKept)
    keepOnly(this.#callers, isKept)
  }

  /** Send to everybody now; resolves when each has it or has failed. */
  async announce(): Promise<void> {
    this.stop()
    const batch = new Batch(this.#context, 'vote', [])
    const peers = this.#some(this.#observers([this.#context.membership.self]), FANOUT)
    await Promise.all(peers.map(peer => this.#client.deliver(peer, batch)))
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #nameOf(index: number): NodeName {
    return this.#context.membership.table.roster.members[index]!.name
  }

  #callsOn(name: NodeName): Calls {
    const known = this.#calls.get(name)
    if (known !== undefined) return known
    const calls = {
      heard: new Map<PeerState, number>(),
      owed: new Set<PeerState>(),
      calledAt: -Infinity,
      probedAt: -Infinity,
    }
    this.#calls.set(name, calls)
    return calls
  }

  #isMember(peer: PeerState): boolean {
    return this.#context.membership.peers[peer.index] === peer
  }

  #answer(target: number): boolean {
    const owed = this.#calls.get(this.#nameOf(target))?.owed
    if (owed === undefined || owed.size === 0) return false
    const { table } = this.#context.membership
    const isDown = table.saysDown(table.self, target)
    const before = this.#callers.size
    for (const caller of owed)
      if (isDown || table.saysDown(caller.index, target)) this.#callers.add(caller)
    owed.clear()
    return this.#callers.size > before
  }

  #arm(waitMs = this.#context.options.pushBatchMs): void {
    if (this.#context.signal.aborted) return
    this.#cancel ??= this.#context.seams.clock.after(waitMs, () => this.#flush())
  }

  #flush(): void {
    this.#cancel = undefined
    const { roster, self } = this.#context.membership.table
    const indicesOf = (names: Iterable<NodeName>): number[] =>
      [...names].flatMap(name => roster.indexOf(name) ?? [])
    const about = indicesOf(this.#flipped)
    if (this.#toAll) about.push(self)
    const suspects = [...this.#suspects].slice(0, MAX_SUSPECTS)
    const called = this.#some(this.#observers(indicesOf(suspects)), FANOUT)
    // A call for votes is not news: records go with it only after a vote changed.
    const isMere =
      this.#callers.size + about.length === 0 && !this.#saysDownAny(indicesOf(suspects))
    const receivers = new Set([
      ...this.#callers,
      ...this.#some(this.#observers(about), FANOUT),
      ...this.#rumour.listeners(),
    ])
    this.#flipped.clear()
    this.#suspects.clear()
    this.#callers.clear()
    this.#toAll = false
    for (const peer of called) receivers.delete(peer)
    this.#send(receivers, [], false)
    this.#send(called, suspects, isMere)
    if (this.#rumour.isNews) this.#arm(RUMOUR_EVERY_MS)
  }

  #saysDownAny(targets: readonly number[]): boolean {
    const { table } = this.#context.membership
    return targets.some(target => table.saysDown(table.self, target))
  }

  /** The other observers of these members that are worth a message. */
  #observers(about: readonly number[]): PeerState[] {
    const { table, peers } = this.#context.membership
    const found = new Set<PeerState>()
    for (const target of about) {
      for (const observer of table.topology.observersOf(target)) {
        const peer = peers[observer]
        if (peer === undefined || peer.isSuperEdge) continue
        if (!this.#isLost(peer)) found.add(peer)
      }
    }
    return [...found]
  }

  #some(peers: readonly PeerState[], limit: number): readonly PeerState[] {
    return peers.length <= limit
      ? peers
      : shuffle(this.#context.seams.random, peers).slice(0, limit)
  }

  #send(peers: Iterable<PeerState>, suspects: readonly NodeName[], isEmpty: boolean): void {
    let batch: Batch | undefined
    for (const peer of peers) {
      const lane = this.#lanes.get(peer) ?? newLane()
      this.#lanes.set(peer, lane)
      if (lane.isBusy) {
        lane.isWanted = true
        for (const name of suspects) lane.suspects.add(name)
        continue
      }
      batch ??= new Batch(this.#context, 'vote', suspects, { isEmpty })
      // Never rejects.
      void this.#run(lane, peer, batch)
    }
  }

  /** A push that fails is tried once more: under loss that is cheaper than waiting for the next exchange. */
  async #run(lane: Lane, peer: PeerState, first: Batch): Promise<void> {
    lane.isBusy = true
    let wasTaken = await this.#client.deliver(peer, first)
    let suspects = first.suspects
    for (
      let isRetry = false;
      (lane.isWanted || (!wasTaken && !isRetry)) && this.#isWorthIt(peer);
    ) {
      isRetry = !lane.isWanted
      suspects = [...new Set([...(wasTaken ? [] : suspects), ...lane.suspects])].slice(
        0,
        MAX_SUSPECTS,
      )
      lane.isWanted = false
      lane.suspects.clear()
      const isEmpty = isRetry && first.isEmpty
      const batch = new Batch(this.#context, 'vote', suspects, { isEmpty })
      wasTaken = await this.#client.deliver(peer, batch)
    }
    lane.isBusy = false
  }

  #isWorthIt(peer: PeerState): boolean {
    const isGone = this.#context.signal.aborted || peer.isSuperEdge || !this.#isMember(peer)
    return !isGone && !this.#isLost(peer)
  }

  /** We see it down, and it did not answer lately either. */
  #isLost(peer: PeerState): boolean {
    const { membership, now } = this.#context
    const { table, self } = membership
    return peer.backoffUntil > now && table.saysDown(self, peer.index)
  }
}
