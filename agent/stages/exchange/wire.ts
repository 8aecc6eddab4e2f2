// SPDX-License-Identifier: Apache-2.0
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import { id64 } from '../../../core/ids.js'
import type { KeyRing, SignKey } from '../../key-ring.js'
import type { Refusal } from './refusal.js'

/** Bytes of the header and of the signature behind the body. */
export const HEADER_BYTES = 64
export const MAC_BYTES = 32

/** What a message begins with, in little endian, and the byte behind it. */
interface Protocol {
  readonly magic: number
  readonly version: number
}

/** `EHP1`: signed with the key of the zone, so by any of its members. */
const SHARED: Protocol = { magic: 0x31504845, version: 2 }
/** `EHP2`: signed with the key of two nodes, so by the one that it names. */
const OF_PAIR: Protocol = { magic: 0x32504845, version: 1 }

/** What a message is. A request never passes for a reply, nor one route's request for the other's. */
export const TYPE = {
  /** Push-pull: my whole state, send me yours. */
  gossip: 1,
  /** Something changed, or votes are called for: my whole state, and whom to probe at once. */
  vote: 2,
  /** Reply with the whole state. */
  state: 3,
  /** Reply without. */
  ack: 4,
  /** Reply: not believed as it is; send it again. */
  challenge: 5,
} as const

/** The one bit of `flags` in the header, the others are 0: members are named by id, since the rosters differ. */
export const SPARSE = 1

/** Everything that is signed beside the body; little endian at fixed places. */
export interface Header {
  readonly type: number
  readonly flags: number
  /** Of the sender's roster and topology: a receiver with the same one may read records by place. */
  readonly membershipHash: bigint
  readonly senderId: bigint
  /** In a request the sender's incarnation; in a reply the number that the requester's next request must show. */
  readonly senderBoot: bigint
  /** Grows with every request to one peer; a reply repeats its request's. */
  readonly senderSeq: number
  readonly baseHb: number
  /** In a request what the receiver last showed us (0: nothing yet), in a reply the requester's incarnation. */
  readonly destBoot: bigint
  /** Records in the body. */
  readonly count: number
  /**
   * In a request for how many milliseconds its sender held `destBoot` when its body was true, rounded down; 0 in a reply.
   */
  readonly heldMs: number
}

export type Opened =
  | {
      readonly ok: true
      readonly header: Header
      readonly body: Buffer
      readonly keyId: number
      /** Signed with the key of a pair: by the named sender or by us. */
      readonly isOfPair: boolean
    }
  | { readonly ok: false; readonly refusal: Refusal }

/** Binds a message to one cluster and one zone: agents that share a key must not hear each other across zones. */
export const zoneHash = (clusterId: string, zone: string): bigint =>
  id64(JSON.stringify(['edge-health', clusterId, zone]))

const macOf = (key: KeyObject, signed: Uint8Array): Buffer =>
  createHmac('sha256', key).update(signed).digest()

/** Sign a header and a body into one message of its own memory: it may be sent while the body's buffer is reused. */
export const seal = (header: Header, body: Uint8Array, zone: bigint, key: SignKey): Buffer => {
  const { magic, version } = key.isOfPair === true ? OF_PAIR : SHARED
  const end = HEADER_BYTES + body.length
  const out = Buffer.allocUnsafe(end + MAC_BYTES)
  out.writeUInt32LE(magic, 0)
  out[4] = version
  out[5] = header.type
  out[6] = header.flags
  out[7] = key.id
  out.writeBigUInt64LE(zone, 8)
  out.writeBigUInt64LE(header.membershipHash, 16)
  out.writeBigUInt64LE(header.senderId, 24)
  out.writeBigUInt64LE(header.senderBoot, 32)
  out.writeUInt32LE(header.senderSeq, 40)
  out.writeUInt32LE(header.baseHb, 44)
  out.writeBigUInt64LE(header.destBoot, 48)
  out.writeUInt32LE(header.count, 56)
  out.writeUInt32LE(header.heldMs, 60)
  out.set(body, HEADER_BYTES)
  out.set(macOf(key.key, out.subarray(0, end)), end)
  return out
}

const headerOf = (bytes: Buffer): Header => ({
  type: bytes[5]!,
  flags: bytes[6]!,
  membershipHash: bytes.readBigUInt64LE(16),
  senderId: bytes.readBigUInt64LE(24),
  senderBoot: bytes.readBigUInt64LE(32),
  senderSeq: bytes.readUInt32LE(40),
  baseHb: bytes.readUInt32LE(44),
  destBoot: bytes.readBigUInt64LE(48),
  count: bytes.readUInt32LE(56),
  heldMs: bytes.readUInt32LE(60),
})

const refused = (refusal: Refusal): Opened => ({ ok: false, refusal })

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** The zone that a message of full length says it is for; not verified. */
export const zoneNamedBy = (message: Uint8Array): bigint => bufferOf(message).readBigUInt64LE(8)

/** Whether a message says that it is signed with the key of a pair; which pair follows from its sender's id. */
export const isOfPair = (message: Uint8Array): boolean =>
  message.length >= HEADER_BYTES + MAC_BYTES && bufferOf(message).readUInt32LE(0) === OF_PAIR.magic

/** What a message of full length says of itself; not verified. */
export const headerNamedBy = (message: Uint8Array): Header => headerOf(bufferOf(message))

/**
 * Verify a message. Only what is needed to find the key is read before the signature over the raw bytes is verified.
 * Never throws, whatever the bytes.
 * @param keys of the zone, or of a pair: a message signed with the other kind is malformed
 */
export const open = (
  message: Uint8Array,
  zone: bigint,
  { keys }: Pick<KeyRing, 'keys'>,
  kind: 'shared' | 'of-pair' = 'shared',
): Opened => {
  const { magic, version } = kind === 'shared' ? SHARED : OF_PAIR
  const bytes = bufferOf(message)
  if (bytes.length < HEADER_BYTES + MAC_BYTES) return refused('malformed')
  if (bytes.readUInt32LE(0) !== magic) return refused('malformed')
  if (bytes[4] !== version) return refused('wrong-version')
  const end = bytes.length - MAC_BYTES
  if (bytes.readBigUInt64LE(8) !== zone) return refused('wrong-zone')
  const keyId = bytes[7]!
  const candidates = keys.filter(key => key.id === keyId)
  if (candidates.length === 0) return refused('unknown-key')
  const signed = bytes.subarray(0, end)
  const mac = bytes.subarray(end)
  if (!candidates.some(key => timingSafeEqual(macOf(key.key, signed), mac))) {
    return refused('bad-signature')
  }
  const body = bytes.subarray(HEADER_BYTES, end)
  return { ok: true, header: headerOf(bytes), body, keyId, isOfPair: kind === 'of-pair' }
}
