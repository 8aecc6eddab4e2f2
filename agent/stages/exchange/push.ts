// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import { shuffle } from '../../../core/random.js'
import { keepOnly } from '../../keep-only.js'
import { MAX_SUSPECTS } from './body.js'
import { Batch } from './batch.js'
import type { PeerClient } from './peer-client.js'
import type { ExchangeContext } from './context.js'
import type { PeerState } from './peer-state.js'
import { isLost, isMember, PushLanes } from './push-lanes.js'
import { Rumour } from './rumour.js'
import { VoteCalls } from './vote-calls.js'

/** One event goes to at most this many peers, chosen at random; each passes on all it knows, and bursts do the rest. */
const FANOUT = 64
/** Between two rounds of a rumour. */
const RUMOUR_EVERY_MS = 200

/** Event push: flips, flags and calls for votes go straight to the peers that they concern. */
export class Push {
  readonly #context: ExchangeContext
  readonly #client: PeerClient
  readonly #lanes: PushLanes
  readonly #calls = new VoteCalls()
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
    this.#lanes = new PushLanes(context, client)
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
    const name = this.#nameOf(target)
    if (!this.#calls.mayCall(name, this.#context.now)) return
    this.#suspects.add(name)
    this.#arm()
  }

  /** A member called for our vote. */
  called(target: number, caller: PeerState): void {
    const { topology, self } = this.#context.membership.table
    if (target === self || topology.slotOf(self, target) < 0) return
    const name = this.#nameOf(target)
    if (this.#calls.heard(name, caller, this.#context.now)) this.#context.seams.onSuspect(name)
  }

  /**
   * Our round on this member ended: a peer that called for it and says that it is down hears whether we agree. That all is
   * well as before is no news to others.
   */
  roundEnded(target: number): void {
    if (this.#answer(target)) this.#arm()
  }

  /** The roster changed: forget calls, and peers that are not in it. */
  reset(): void {
    this.#calls.clear()
    this.#rumour.reset()
    this.#lanes.reset()
    keepOnly(this.#callers, peer => isMember(this.#context, peer))
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

  #answer(target: number): boolean {
    const owed = this.#calls.takeOwed(this.#nameOf(target))
    const { table } = this.#context.membership
    const isDown = table.saysDown(table.self, target)
    const before = this.#callers.size
    for (const caller of owed)
      if (isDown || table.saysDown(caller.index, target)) this.#callers.add(caller)
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
    this.#lanes.send(receivers, [], false)
    this.#lanes.send(called, suspects, isMere)
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
        if (!isLost(this.#context, peer)) found.add(peer)
      }
    }
    return [...found]
  }

  #some(peers: readonly PeerState[], limit: number): readonly PeerState[] {
    return peers.length <= limit
      ? peers
      : shuffle(this.#context.seams.random, peers).slice(0, limit)
  }
}
