// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../../core/roster.js'
import { PeerState } from './peer-state.js'

/** By roster index; the own place is empty. */
export type PeerList = readonly (PeerState | undefined)[]

/** What is kept about the agents of the other members. A new roster replaces the list; peers that are in both stay. */
export class Peers {
  readonly #port: number
  #list: PeerList = []
  #topSeq = 0

  constructor(port: number, roster: Roster) {
    this.#port = port
    this.setRoster(roster)
  }

  get list(): PeerList {
    return this.#list
  }

  setRoster(roster: Roster): void {
    const byId = new Map(this.#list.map(peer => [peer?.id, peer]))
    this.#list = roster.members.map((member, index) => {
      if (index === roster.self) return undefined
      const known = byId.get(member.id)
      known?.moveTo(member, index)
      // A peer that left and came back still remembers our numbers: begin above all that were ever used.
      return known ?? new PeerState(member, { index, port: this.#port, seq: this.#topSeq })
    })
  }

  /** The number of the next request to this peer. */
  nextSeq(peer: PeerState): number {
    peer.seq++
    this.#topSeq = Math.max(this.#topSeq, peer.seq)
    return peer.seq
  }
}
