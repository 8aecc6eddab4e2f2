// SPDX-License-Identifier: Apache-2.0
import type { Route } from './transport.js'

/** What the exchange says to a peer's message. */
export interface PeerAnswer {
  readonly status: number
  readonly body: Uint8Array | string
  readonly headers?: Readonly<Record<string, string>>
}

/** The exchange's receiving side. No call throws, whatever a peer sends. */
export interface PeerInbox {
  /** Whether a member of the zone has this IP address. */
  isMember(address: string): boolean
  /** The longest body worth reading on this route. */
  maxBytes(route: Route): number
  /** Refuses what comes too fast before it looks at the body. */
  receive(route: Route, body: Uint8Array, fromAddress: string): PeerAnswer
}
