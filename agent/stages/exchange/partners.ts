// SPDX-License-Identifier: Apache-2.0
import { shuffle } from '../../../core/random.js'
import type { ExchangeContext } from './context.js'
import type { PeerState } from './peer-state.js'

/** Percentage of exchanges with a neighbour; the others are with any member. */
const NEIGHBOUR_PERCENT = 75
/** How often a SuperEdge peer is tried again with our own protocol. */
const UPGRADE_TRY_MS = 60_000

const isOpen = (peer: PeerState, now: number): boolean => {
  if (peer.isGossiping || peer.backoffUntil > now) return false
  return !peer.isSuperEdge || now - peer.triedV1At >= UPGRADE_TRY_MS
}

/**
 * Chooses the partner of the next exchange. Neighbours take turns in an order that is shuffled for every turn, so none
 * waits long. Peers that failed lately are left out, unless all did: an isolated agent goes on trying.
 */
export class Partners {
  readonly #context: ExchangeContext
  #turn: PeerState[] = []

  constructor(context: ExchangeContext) {
    this.#context = context
  }

  /** The roster changed. */
  reset(): void {
    this.#turn = []
  }

  pick(): PeerState | undefined {
    const { random } = this.#context.seams
    const neighbour = random.below(100) < NEIGHBOUR_PERCENT ? this.#nextNeighbour() : undefined
    return neighbour ?? this.pickAnybody()
  }

  /** Any member, neighbour or not. */
  pickAnybody(): PeerState | undefined {
    return this.#anybody(true) ?? this.#anybody(false)
  }

  #nextNeighbour(): PeerState | undefined {
    const { now } = this.#context
    if (!this.#turn.some(peer => isOpen(peer, now))) {
      const { membership, seams } = this.#context
      const { table, peers, self } = membership
      const neighbours = Array.from(table.topology.gossipNeighbours(self))
      this.#turn = shuffle(
        seams.random,
        neighbours.flatMap(index => peers[index] ?? []),
      )
    }
    const place = this.#turn.findIndex(peer => isOpen(peer, now))
    return place < 0 ? undefined : this.#turn.splice(place, 1)[0]
  }

  #anybody(onlyOpen: boolean): PeerState | undefined {
    const { now } = this.#context
    const candidates = this.#context.membership.peers.filter(
      peer =>
        peer !== undefined &&
        (onlyOpen ? isOpen(peer, now) : !peer.isSuperEdge && !peer.isGossiping),
    )
    return candidates.length === 0
      ? undefined
      : candidates[this.#context.seams.random.below(candidates.length)]
  }
}
