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
  /** Its keys are known: it is believed only when it signs with them. */
  readonly isSigned: boolean
  /** When what it last signed was made; null when nothing was heard that its known keys signed. */
  readonly signedAt: number | null
  /** Statements that have the same number as another one that it signed. */
  readonly equivocations: number
  /** Requests to it that failed, and why the last one did. */
  readonly failures: number
  readonly trouble: string | null
  /** It failed because one of us does not have the key with which the other signs. */
  readonly isKeyRefused: boolean
  readonly refusals: Counts
  readonly bytesSent: number
  readonly bytesReceived: number
}

/** What members sign with keys of their own, for `/status` and the metrics. */
export interface IdentityStatus {
  /** Members whose keys are known, this one among them; 0 while this one has none that the others can read. */
  readonly members: number
  /** Signatures of members that were checked since start, good or bad. */
  readonly proved: number
  /** Statements with the number of another one of the same member. */
  readonly equivocations: number
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
  readonly identity: IdentityStatus
  readonly peerCount: number
  /** Peers whose last request was answered, or that were sent none yet. */
  readonly taking: number
  /** Peers that use the same keys. */
  readonly sharingKeys: number
  /** Requests to all peers that failed. */
  readonly failures: number
  /** Built on first access: most callers need only the numbers. */
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
  isSigned: membership.statements.isSigned(peer.index),
  signedAt: when(membership.statements.signedAt(peer.index)),
  equivocations: membership.statements.equivocationsOf(peer.index),
  failures: peer.failures,
  trouble: peer.trouble ?? null,
  isKeyRefused: peer.isKeyRefused,
  refusals: peer.refusals.show(),
  bytesSent: peer.bytesSent,
  bytesReceived: peer.bytesReceived,
})

/** Once a peer refuses our keys, the key set that it reported no longer counts. */
const isSharing = ({ keySetHash, isKeyRefused }: PeerState, ownHash: number): boolean =>
  keySetHash === ownHash && !isKeyRefused

const identityStatus = ({ membership }: ExchangeContext): IdentityStatus => {
  const { statements, identities, peers } = membership
  const known = peers.filter(peer => peer !== undefined && statements.isSigned(peer.index)).length
  return { members: identities.own === undefined ? 0 : known + 1, ...statements.counts }
}

/** The state now. `peers` is computed when it is first read: read it at once. */
export const statusOf = (context: ExchangeContext, isBurst: boolean): EngineStatus => {
  const { membership, traffic } = context
  const peers = membership.peers.filter(peer => peer !== undefined)
  let shown: readonly PeerStatus[] | undefined
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
    identity: identityStatus(context),
    peerCount: peers.length,
    taking: peers.filter(({ trouble }) => trouble === undefined).length,
    sharingKeys: peers.filter(peer => isSharing(peer, membership.keys.setHash)).length,
    failures: peers.reduce((sum, peer) => sum + peer.failures, 0),
    get peers() {
      return (shown ??= peers.map(peer => peerStatus(peer, context)))
    },
  }
}
