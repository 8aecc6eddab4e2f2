// SPDX-License-Identifier: Apache-2.0
import type { Topology } from '../../../agent/records/topology.js'
import { QUIET_LEAST } from '../../../agent/stages/exchange/statement-news.js'
import type { Random } from '../../../core/random.js'

/** Three of four exchanges are with a neighbour. */
const NEIGHBOUR_PERCENT = 75
/** News has reached everybody by then, whatever was known at first. */
const WARM_UP_MS = 90_000

export interface KnowledgeOrder {
  readonly size: number
  readonly topology: Pick<Topology, 'kind' | 'gossipNeighbours'>
  /** The agent under test speaks for itself. */
  readonly agent: number
  readonly exchangePeriodMs: number
}

/** Somebody to exchange with, as agents choose it; undefined when that is nobody. */
export const pickPartner = (
  { size, topology }: Pick<KnowledgeOrder, 'size' | 'topology'>,
  self: number,
  random: Random,
): number | undefined => {
  const near = topology.gossipNeighbours(self)
  const isNear = random.below(100) < NEIGHBOUR_PERCENT && near.length > 0
  const partner = isNear ? near[random.below(near.length)]! : random.below(size)
  return partner === self ? undefined : partner
}

/**
 * Up to when each member of the world has heard of each. What they tell each other is played with these times alone, by
 * the rules of agents in a quiet zone: nothing is signed but what the agent under test is told. Times are in quarters of a
 * second, as those of statements.
 */
export class Knowledge {
  readonly #order: KnowledgeOrder
  readonly #random: Random
  readonly #start: number
  /** Row by row, relative to the start. */
  readonly #heard: Int32Array
  #playedMs: number

  /** @param now quarters of a second */
  constructor(order: KnowledgeOrder, random: Random, now: number) {
    this.#order = order
    this.#random = random
    this.#start = now
    this.#heard = new Int32Array(order.size ** 2).fill(-WARM_UP_MS / 250)
    this.#playedMs = -WARM_UP_MS
    this.playTo(now)
  }

  /** The time of what `member` knows of `origin`. */
  of(member: number, origin: number): number {
    return this.#start + this.#heard[member * this.#order.size + origin]!
  }

  /** Somebody told it. */
  learn(member: number, origin: number, time: number): void {
    this.#hear(member * this.#order.size + origin, time - this.#start)
  }

  /** Everybody but the agent has exchanged with one partner per period until now. */
  playTo(now: number): void {
    const { size, agent, exchangePeriodMs } = this.#order
    const endMs = (now - this.#start) * 250
    const stepMs = exchangePeriodMs / (size - 1)
    for (; this.#playedMs + stepMs <= endMs; this.#playedMs += stepMs) {
      const asker = this.#random.below(size)
      const partner = pickPartner(this.#order, asker, this.#random)
      if (asker === agent || partner === undefined || partner === agent) continue
      this.#exchange(asker, partner, Math.floor(this.#playedMs / 250))
    }
  }

  #exchange(asker: number, partner: number, now: number): void {
    const { size, topology } = this.#order
    this.#heard[asker * size + asker] = now
    this.#heard[partner * size + partner] = now
    // A request tells all that its sender learned in a mesh alone; everywhere it tells of the sender.
    if (topology.kind === 'mesh') this.#pass(asker, partner)
    else this.#hear(partner * size + asker, now)
    this.#pass(partner, asker)
  }

  /** What is later by as much as agents call news. */
  #pass(from: number, to: number): void {
    const { size } = this.#order
    const heard = this.#heard
    const there = to * size
    const here = from * size
    for (let origin = 0; origin < size; origin++)
      if (heard[here + origin]! - heard[there + origin]! >= QUIET_LEAST)
        heard[there + origin] = heard[here + origin]!
  }

  #hear(at: number, time: number): void {
    if (this.#heard[at]! < time) this.#heard[at] = time
  }
}
