// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import { keepOnly } from '../../keep-only.js'
import { Batch } from './batch.js'
import { MAX_SUSPECTS } from './body.js'
import type { ExchangeContext } from './context.js'
import type { PeerClient } from './peer-client.js'
import type { PeerState } from './peer-state.js'

/** One peer's pushes: one at a time; what comes meanwhile goes together afterwards. */
interface Lane {
  isBusy: boolean
  isWanted: boolean
  readonly suspects: Set<NodeName>
}

const newLane = (): Lane => ({ isBusy: false, isWanted: false, suspects: new Set() })

/** We see the peer down, and it did not answer lately either. */
export const isLost = ({ membership, now }: ExchangeContext, peer: PeerState): boolean =>
  peer.backoffUntil > now && membership.table.saysDown(membership.self, peer.index)

/** Whether the peer is still that of a member. */
export const isMember = ({ membership }: ExchangeContext, peer: PeerState): boolean =>
  membership.peers[peer.index] === peer

/** Pushes messages to peers, to each one at a time. */
export class PushLanes {
  readonly #context: ExchangeContext
  readonly #client: PeerClient
  readonly #lanes = new Map<PeerState, Lane>()

  constructor(context: ExchangeContext, client: PeerClient) {
    this.#context = context
    this.#client = client
  }

  /** @param isEmpty leave the records out, for the peers to which nothing is being pushed yet */
  send(peers: Iterable<PeerState>, suspects: readonly NodeName[], isEmpty: boolean): void {
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

  /** The roster changed: forget peers that are not in it. */
  reset(): void {
    keepOnly(this.#lanes, peer => isMember(this.#context, peer))
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
    const { signal } = this.#context
    const isGone = signal.aborted || peer.isSuperEdge || !isMember(this.#context, peer)
    return !isGone && !isLost(this.#context, peer)
  }
}
