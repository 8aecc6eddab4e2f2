// SPDX-License-Identifier: Apache-2.0
import type { ExchangeContext } from './context.js'
import type { PeerState } from './peer-state.js'
import { RateLimit, TokenBucket } from './rate-limit.js'

/**
 * Each agent that receives the news sends it to `FANOUT` others in each of `ROUNDS` rounds. Two rounds reach everybody.
 * The others bring back the records that a majority must have made since the news, before the verdict counts.
 */
const FANOUT = 4
const ROUNDS = 4
/** Limits the rounds while a partition makes news all the time: per second, and at once. */
const PER_SECOND = 4
const AT_ONCE = 8
/**
 * How often news about one member is passed on: a death, a return and a second death, two levels each, then the present
 * level once in 30 seconds. So an observer that keeps changing its vote neither keeps the zone talking nor delays news
 * about others.
 */
const PER_MEMBER = { perSecond: 1 / 30, burst: 6 }
/** Random draws to find one receiver; some hit members that are down. */
const TRIES = 8

/** This many votes, from independent observers, mean more than one bad link. */
const INDEPENDENT = 2

/**
 * In a zone of rings a vote goes to the target's other observers only. What the observers agree on is passed on by
 * everybody who hears it: once when it is two of them, once when it is most of them, and the same on the way back.
 * Single votes are not: under loss they would keep the whole zone talking.
 */
export class Rumour {
  readonly #context: ExchangeContext
  readonly #limit = new TokenBucket({ perSecond: PER_SECOND, burst: AT_ONCE })
  /** The level that was last passed on of each member. */
  #agreed!: Uint8Array
  #perMember!: RateLimit
  #rounds = 0

  constructor(context: ExchangeContext) {
    this.#context = context
    this.reset()
  }

  /** The roster changed: what is known now is no news. */
  reset(): void {
    const { size } = this.#context.membership.table
    this.#agreed = Uint8Array.from({ length: size }, (_, target) => this.#levelOf(target))
    this.#perMember = new RateLimit(size, PER_MEMBER)
    this.#rounds = 0
  }

  /** Votes came in. @returns whether there is something to send. */
  hear(): boolean {
    if (this.#context.membership.table.topology.kind === 'mesh') return false
    this.#review()
    return this.isNews
  }

  get isNews(): boolean {
    return this.#rounds > 0
  }

  /** The peers to send to now; none while that would exceed the rate, and then the news waits. */
  listeners(): readonly PeerState[] {
    const { membership, now, seams } = this.#context
    const { peers } = membership
    if (!this.isNews || !this.#limit.take(now)) return []
    this.#rounds--
    const found = new Set<PeerState>()
    for (let i = 0; i < FANOUT + TRIES && found.size < FANOUT; i++) {
      const peer = peers[seams.random.below(peers.length)]
      if (peer === undefined || peer.isSuperEdge || peer.backoffUntil > now) continue
      if (seams.localUp(peer.index)) found.add(peer)
    }
    return [...found]
  }

  /** How far the target's observers agree that it is down. */
  #levelOf(target: number): number {
    const { table } = this.#context.membership
    const down = table.downVotes[target]!
    if (down < INDEPENDENT) return 0
    return 2 * down > table.observersOf(target).length ? 2 : 1
  }

  /** Bring `agreed` up to date; a difference is news. */
  #review(): void {
    const { now, membership } = this.#context
    for (let target = 0; target < membership.table.size; target++) {
      const level = this.#levelOf(target)
      if (level === this.#agreed[target] || !this.#perMember.take(target, now)) continue
      this.#agreed[target] = level
      this.#rounds = ROUNDS
    }
  }
}
