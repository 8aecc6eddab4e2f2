// SPDX-License-Identifier: Apache-2.0
import { createHash, createSecretKey, type KeyObject } from 'node:crypto'
import { InvalidInputError } from '../core/errors.js'

const MIN_KEY_BYTES = 16

/** The key that SuperEdge compiles in and publishes with its source: whoever reads the source can sign with it. */
const SUPEREDGE_DEFAULT_KEY = 'hSZbJsKAVmWTxRPi'

/** One shared key. The KeyObject is made once: signing with raw bytes costs five times as much on Node 24. */
export interface SignKey {
  /** First byte of SHA-256 of the key: which key to try, not who may sign. */
  readonly id: number
  readonly key: KeyObject
  /** Two nodes alone have it, not the whole zone. @default false */
  readonly isOfPair?: boolean
}

/**
 * The keys of the zone: signs with the primary one, accepts any. A rotation adds the new key as secondary
 * everywhere, then makes it primary everywhere, then drops the old one; no step makes a vote unreadable.
 */
export interface KeyRing {
  readonly primary: SignKey
  /** The primary key first. */
  readonly keys: readonly SignKey[]
  /** Which set of keys this is, whatever their order; peers show it to each other before an old key is dropped. */
  readonly setHash: number
}

export interface KeyRules {
  /** Accept the key that SuperEdge publishes. @default false */
  readonly allowDefaultKey?: boolean
}

const checkKey = (thing: string, text: string, rules: KeyRules): Buffer => {
  const bytes = Buffer.from(text, 'utf8')
  // The error shows the length, never the key.
  if (bytes.length < MIN_KEY_BYTES) {
    throw new InvalidInputError(thing, `must have at least ${MIN_KEY_BYTES} bytes`, bytes.length)
  }
  if (text.includes('�')) {
    throw new InvalidInputError(
      thing,
      'must be text; write random bytes as base64 or hex',
      bytes.length,
    )
  }
  if (text === SUPEREDGE_DEFAULT_KEY && rules.allowDefaultKey !== true) {
    throw new InvalidInputError(
      thing,
      "must not be SuperEdge's published key (--allow-default-hmac-key accepts it)",
      bytes.length,
    )
  }
  return bytes
}

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/**
 * Build a ring from the primary key and, while a rotation lasts, a secondary one.
 * @throws InvalidInputError for a key that is too short, not text, or public. The key itself is never shown.
 */
export const makeKeyRing = (primary: string, secondary?: string, rules: KeyRules = {}): KeyRing => {
  const texts = [primary]
  if (secondary !== undefined && secondary !== primary) texts.push(secondary)
  const all = texts.map((text, index) =>
    checkKey(index === 0 ? 'primary key' : 'secondary key', text, rules),
  )
  const keys = all.map(bytes => ({ id: sha256(bytes)[0]!, key: createSecretKey(bytes) }))
  const digests = all.map(sha256).sort((a, b) => Buffer.compare(a, b))
  return Object.freeze({
    primary: keys[0]!,
    keys: Object.freeze(keys),
    setHash: sha256(Buffer.concat(digests)).readUInt32LE(),
  })
}

/** Values of a Secret or a ConfigMap; undefined when the object does not exist. */
export type KeyData = Readonly<Record<string, string>> | undefined

/**
 * Read the ring from the Secret (`primary`, optional `secondary`), else from SuperEdge's ConfigMap `hmac-config`
 * (`hmackey`). A Secret without `primary` is an error even beside a good ConfigMap: somebody meant it to count.
 * An empty `secondary` is none.
 * @throws InvalidInputError when there is no key at all: without one nobody may vote (fail closed).
 */
export const parseKeyRing = (
  from: { readonly secret: KeyData; readonly hmacConfig: KeyData },
  rules: KeyRules = {},
): KeyRing => {
  if (from.secret !== undefined) {
    const primary = from.secret['primary']
    if (primary === undefined || primary === '') {
      throw new InvalidInputError(
        'key Secret',
        'must have the key `primary`',
        Object.keys(from.secret),
      )
    }
    const secondary = from.secret['secondary']
    return makeKeyRing(primary, secondary === '' ? undefined : secondary, rules)
  }
  const shared = from.hmacConfig?.['hmackey']
  if (shared === undefined || shared === '') {
    throw new InvalidInputError(
      'shared key',
      'must be given in the key Secret or in ConfigMap hmac-config',
      shared,
    )
  }
  return makeKeyRing(shared, undefined, rules)
}

/** A key set as `status` shows it. */
export const showKeySet = (setHash: number): string => setHash.toString(16).padStart(8, '0')
