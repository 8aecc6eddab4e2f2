// SPDX-License-Identifier: Apache-2.0
import { createHmac, createSecretKey, diffieHellman, hash, type KeyObject } from 'node:crypto'
import type { SignKey } from '../key-ring.js'
import { agreementKeyOf } from './node-keys.js'

/** The two nodes of one key. */
export interface Pair {
  readonly ownId: bigint
  readonly ownAgreementKey: KeyObject
  readonly peerId: bigint
  /** X25519, raw. */
  readonly peerAgreement: Buffer
  /** Of cluster and zone, as in each message. */
  readonly zoneHash: bigint
}

const LABEL = 'edge-health pair 1'

/**
 * The secret of two nodes; undefined where the peer's key gives none (a point of small order). Takes some 40 µs: once
 * for each key of a peer.
 */
const agree = ({ ownAgreementKey, peerAgreement }: Pair): Buffer | undefined => {
  try {
    return diffieHellman({
      privateKey: ownAgreementKey,
      publicKey: agreementKeyOf(peerAgreement),
    })
  } catch {
    return undefined
  }
}

/**
 * The key that signs messages between two nodes, the same at both: HMAC-SHA256 with the zone's shared key over the secret
 * of the two, both ids in order, and the zone. Computing it takes the shared key and one of the two private keys.
 * Undefined where the peer's key gives no secret.
 */
export const makePairKey = (pair: Pair, shared: SignKey): SignKey | undefined => {
  const secret = agree(pair)
  if (secret === undefined) return undefined
  const { ownId, peerId, zoneHash } = pair
  const ids = Buffer.alloc(24)
  ids.writeBigUInt64LE(ownId < peerId ? ownId : peerId, 0)
  ids.writeBigUInt64LE(ownId < peerId ? peerId : ownId, 8)
  ids.writeBigUInt64LE(zoneHash, 16)
  const key = createHmac('sha256', shared.key).update(LABEL).update(secret).update(ids).digest()
  return { id: hash('sha256', key, 'buffer')[0]!, key: createSecretKey(key), isOfPair: true }
}
