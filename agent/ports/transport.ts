// SPDX-License-Identifier: Apache-2.0

/** Another node's agent, as a place to send to. */
export interface Peer {
  readonly name: string
  readonly address: string
  readonly port: number
}

/** What peers ask of each other: `POST /v1/gossip`, `POST /v1/vote`, and SuperEdge's `PUT /result`. */
export type Route = 'gossip' | 'vote' | 'result'

export interface Answer {
  /** HTTP status. */
  readonly status: number
  readonly body: Uint8Array
}

/** Carries one message to a peer and its answer back. */
export interface Transport {
  /**
   * Resolves with the answer whatever its status; bodies above 1 MiB are refused.
   * Rejects with PeerUnreachableError, or with the signal's reason.
   */
  send(peer: Peer, route: Route, body: Uint8Array, signal: AbortSignal): Promise<Answer>
  /** Gives up kept connections. */
  close(): void
}
