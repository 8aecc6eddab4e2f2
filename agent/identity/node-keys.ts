// SPDX-License-Identifier: Apache-2.0
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  randomBytes,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto'
import * as v from 'valibot'
import { InvalidInputError, reasonOf } from '../../core/errors.js'

/** Bytes of a public key, Ed25519 or X25519, and of an Ed25519 signature. */
export const PUBLIC_KEY_BYTES = 32
export const SIGNATURE_BYTES = 64

/** The two public keys of a node, raw. */
export interface PublicKeys {
  /** Ed25519: signs what the node says. */
  readonly signing: Buffer
  /** X25519: agrees with each peer on a key that only the two have. */
  readonly agreement: Buffer
}

/** 16 hexadecimal digits that tell a node's keys from others, for people who compare them. */
export const fingerprintOf = ({ signing, agreement }: PublicKeys): string =>
  createHash('sha256').update(signing).update(agreement).digest('hex').slice(0, 16)

/** The keys of one node, with their private halves. */
export interface NodeKeys {
  readonly public: PublicKeys
  /** Ed25519, `SIGNATURE_BYTES`. */
  sign(bytes: Uint8Array): Buffer
  /** X25519, the private half, for key agreement. */
  readonly agreementKey: KeyObject
  /** What `readNodeKeys` reads: a secret. */
  toJson(): NodeKeysJson
}

const KEY = /^[A-Za-z0-9_-]{43}$/
const part = v.strictObject({
  x: v.pipe(v.string(), v.regex(KEY)),
  d: v.pipe(v.string(), v.regex(KEY)),
})
const schema = v.strictObject({ ed25519: part, x25519: part })

/** Base64url texts of the public (`x`) and the private (`d`) half of both keys. */
export type NodeKeysJson = v.InferOutput<typeof schema>
type KeyPart = v.InferOutput<typeof part>

type Curve = 'Ed25519' | 'X25519'

const privateKeyOf = (crv: Curve, { x, d }: KeyPart): KeyObject =>
  createPrivateKey({ key: { kty: 'OKP', crv, x, d }, format: 'jwk' })

const publicKeyOf = (crv: Curve, raw: Buffer): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv, x: raw.toString('base64url') }, format: 'jwk' })

/** Verifies Ed25519 signatures of one node. */
export type Verifier = (bytes: Uint8Array, signature: Uint8Array) => boolean

/**
 * How many parsed keys stay in memory. One takes 1.4 KB outside of the heap. Parsing it again takes two thirds of the
 * time of a verification, and a large zone needs one verification per member in a quarter of an hour.
 */
const KEPT_KEYS = 128
/** By raw key, the least recently used first. */
const keptKeys = new Map<Buffer, KeyObject>()

const signingKeyOf = (raw: Buffer): KeyObject => {
  const key = keptKeys.get(raw) ?? publicKeyOf('Ed25519', raw)
  keptKeys.delete(raw)
  keptKeys.set(raw, key)
  for (const oldest of keptKeys.keys()) {
    if (keptKeys.size <= KEPT_KEYS) break
    keptKeys.delete(oldest)
  }
  return key
}

/** Accepts any 32 bytes. A node that publishes a weak key, of small order, lets anybody sign for it, as if it leaked its key. */
export const makeVerifier =
  (signing: Buffer): Verifier =>
  (bytes, signature) =>
    signature.length === SIGNATURE_BYTES &&
    verify(undefined, bytes, signingKeyOf(signing), signature)

/** A peer's public X25519 key, for key agreement. */
export const agreementKeyOf = (raw: Buffer): KeyObject => publicKeyOf('X25519', raw)

const build = (json: NodeKeysJson): NodeKeys => {
  const signingKey = privateKeyOf('Ed25519', json.ed25519)
  return {
    public: {
      signing: Buffer.from(json.ed25519.x, 'base64url'),
      agreement: Buffer.from(json.x25519.x, 'base64url'),
    },
    agreementKey: privateKeyOf('X25519', json.x25519),
    sign: bytes => sign(undefined, bytes, signingKey),
    toJson: () => json,
  }
}

/** The prefix of the 32 bytes of a private key (RFC 8410, section 7). */
const PKCS8 = {
  Ed25519: Buffer.from('302e020100300506032b657004220420', 'hex'),
  X25519: Buffer.from('302e020100300506032b656e04220420', 'hex'),
} as const

/**
 * Any 32 bytes are a private key of these curves. `generateKeyPairSync` is not used: in Node.js 20 it deadlocks when
 * garbage is collected while its key is exported, since the finished job waits for the key's lock, which the export holds.
 */
const generate = (crv: Curve): KeyPart => {
  const secret = randomBytes(32)
  const pkcs8 = Buffer.concat([PKCS8[crv], secret])
  const key = createPublicKey(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }))
  pkcs8.fill(0)
  const { x = '' } = key.export({ format: 'jwk' })
  return { x, d: secret.toString('base64url') }
}

/** New keys. */
export const generateNodeKeys = (): NodeKeys =>
  build({ ed25519: generate('Ed25519'), x25519: generate('X25519') })

/**
 * Reads what `toJson` returned.
 * @throws InvalidInputError unless both keys are complete and each public half belongs to its private one. The error
 * shows no key.
 */
export const readNodeKeys = (json: unknown): NodeKeys => {
  const parsed = v.safeParse(schema, json)
  if (!parsed.success)
    throw new InvalidInputError('node keys', 'must hold x and d of ed25519 and x25519', typeof json)
  const { output } = parsed
  try {
    for (const [crv, one] of [
      ['Ed25519', output.ed25519],
      ['X25519', output.x25519],
    ] as const) {
      const { x } = createPublicKey(privateKeyOf(crv, one)).export({ format: 'jwk' })
      if (x !== one.x)
        throw new InvalidInputError(`node keys, ${crv}`, 'must belong together', 'two keys')
    }
  } catch (error) {
    if (error instanceof InvalidInputError) throw error
    throw new InvalidInputError('node keys', `must be readable: ${reasonOf(error)}`, 'a key')
  }
  return build(output)
}
