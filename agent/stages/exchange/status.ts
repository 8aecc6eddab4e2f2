// SPDX-License-Identifier: Apache-2.0
import type { ExchangeContext } from './context.js'
import { showKeySet } from '../../key-ring.js'
import type { Dialect, PeerState } from './peer-state.js'
import type { Refusal } from './refusal.js'

type Counts = Readonly<Partial<Record<Refusal, number>>>

/** One peer, for `/status`. Times are `Clock.now`; null is never, or not known. */
export interface PeerStatus {
  readonly name: string
  readonly address: string
  readonly speaks: 'unknown' | 'v1' | Dialect
  /** It has the same roster and topology. */
  readonly isSameRoster: boolean | null
  readonly lastHeardAt: number | null
  readonly lastSentAt: number | null
  readonly backoffUntil: number | null
  readonly keyId: number | null
  readonly keySetHash: string | null
  /** Requests to it that failed, and why the last one did. */
  readonly failures: number
  readonly trouble: string | null
  readonly refusals: Counts
  readonly bytesSent: number
  readonly bytesReceived: number
}

/** The exchange, for `/status` and the metrics. Bytes are of bodies, without HTTP. */
export interface EngineStatus {
  readonly topology: string
  readonly heartbeat: number
  readonly isBurst: boolean
  readonly keyId: number
  readonly keySetHash: string
  readonly refusals: Counts
  readonly messagesSent: number
  readonly messagesReceived: number
  readonly bytesSent: number
  readonly bytesReceived: number
  readonly peers: readonly PeerStatus[]
}

const when = (at: number): number | null => (at === -Infinity ? null : at)

const speaks = (peer: PeerState): PeerStatus['speaks'] => {
  if (peer.isSuperEdge && peer.dialect !== undefined) return peer.dialect
  return peer.spokeV1At === -Infinity ? 'unknown' : 'v1'
}

const peerStatus = (peer: PeerState, { membership, now }: ExchangeContext): PeerStatus => ({
  name: peer.name,
  address: peer.address.address,
  speaks: speaks(peer),
  isSameRoster: peer.rosterHash === undefined ? null : peer.rosterHash === membership.table.hash,
  lastHeardAt: when(peer.lastHeardAt),
  lastSentAt: when(peer.lastSentAt),
  backoffUntil: peer.backoffUntil > now ? peer.backoffUntil : null,
  keyId: peer.keyId ?? null,
  keySetHash: peer.keySetHash === undefined ? null : showKeySet(peer.keySetHash),
  failures: peer.failures,
  trouble: peer.trouble ?? null,
  refusals: peer.refusals.show(),
  bytesSent: peer.bytesSent,
  bytesReceived: peer.bytesReceived,
})

/** A copy of how things are. */
export const statusOf = (context: ExchangeContext, isBurst: boolean): EngineStatus => {
  const { membership, traffic } = context
  return {
    topology: membership.table.topology.kind,
    heartbeat: membership.heartbeat,
    isBurst,
    keyId: membership.keys.primary.id,
    keySetHash: showKeySet(membership.keys.setHash),
    refusals: traffic.refusals.show(),
    messagesSent: traffic.messagesSent,
    messagesReceived: traffic.messagesReceived,
    bytesSent: traffic.bytesSent,
    bytesReceived: traffic.bytesReceived,
    peers: membership.peers.flatMap(peer =>
      peer === undefined ? [] : [peerStatus(peer, context)],
    ),
  }
}
