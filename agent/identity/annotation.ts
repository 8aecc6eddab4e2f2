// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'
import {
  makeVerifier,
  PUBLIC_KEY_BYTES,
  SIGNATURE_BYTES,
  type NodeKeys,
  type PublicKeys,
  type Verifier,
} from './node-keys.js'

/** The annotation of a Node that says which keys its agent has. */
export const IDENTITY_ANNOTATION = 'edge-health/identity'

/** Whose keys they are. A signature counts for no other cluster or Node, and not for a Node that was made again. */
export interface IdentitySubject {
  readonly clusterId: string
  readonly node: NodeName
  /** `metadata.uid` of the Node. */
  readonly uid: string
}

/** What a Node's annotation says. */
export interface PublishedIdentity {
  /** From 1; one more with each change of keys. */
  readonly generation: number
  readonly keys: PublicKeys
  /** Made with the new keys: proves that the publisher holds them. */
  readonly signature: Buffer
  /** Made with the keys of the generation before; undefined where those were lost. */
  readonly previousSignature: Buffer | undefined
}

/** A statement stores the generation in two bytes. */
export const MAX_GENERATION = 0xffff
/** `1`, the generation, two keys, one or two signatures. */
const MAX_LENGTH = 2 + 6 + 2 * 44 + 2 * 87
const VERSION = '1'

const signedBytes = (
  { clusterId, node, uid }: IdentitySubject,
  generation: number,
  { signing, agreement }: PublicKeys,
): Buffer =>
  Buffer.from(
    `edge-health identity 1\0${JSON.stringify([
      ...[clusterId, node, uid, generation],
      ...[signing.toString('base64url'), agreement.toString('base64url')],
    ])}`,
  )

/** The value of the annotation, signed by `keys` and, after a change of keys, by those before. At most 270 characters. */
export const writeIdentity = (
  subject: IdentitySubject,
  generation: number,
  keys: NodeKeys,
  previous?: NodeKeys,
): string => {
  const bytes = signedBytes(subject, generation, keys.public)
  const { signing, agreement } = keys.public
  const parts = [signing, agreement, keys.sign(bytes)]
  if (previous !== undefined) parts.push(previous.sign(bytes))
  return [VERSION, generation, ...parts.map(part => part.toString('base64url'))].join(' ')
}

/** Decodes base64url of exactly this many bytes, written as `toString` does; undefined otherwise. */
const decode = (text: string, bytes: number): Buffer | undefined => {
  const raw = Buffer.from(text, 'base64url')
  return raw.length === bytes && raw.toString('base64url') === text ? raw : undefined
}

const refused = (rule: string, text: unknown): InvalidInputError =>
  new InvalidInputError(`annotation ${IDENTITY_ANNOTATION}`, rule, text)

const parseGeneration = (text: string | undefined): number => {
  const generation = /^[1-9]\d{0,4}$/.test(text ?? '') ? Number(text) : 0
  if (generation === 0 || generation > MAX_GENERATION)
    throw refused(`must have a generation from 1 to ${MAX_GENERATION}`, text)
  return generation
}

/**
 * Parses the value of an annotation; its signatures are not verified yet.
 * @throws InvalidInputError for anything but `1 GENERATION ED25519 X25519 SIGNATURE [PREVIOUS SIGNATURE]` in base64url.
 */
export const parseIdentity = (text: string): PublishedIdentity => {
  if (text.length > MAX_LENGTH)
    throw refused(`must have at most ${MAX_LENGTH} characters`, text.length)
  const [version, number, ...parts] = text.split(' ')
  if (version !== VERSION) throw refused(`must begin with ${VERSION}`, version)
  const generation = parseGeneration(number)
  if (parts.length !== 3 && parts.length !== 4)
    throw refused('must have two keys and one or two signatures', parts.length)
  const sizes = [PUBLIC_KEY_BYTES, PUBLIC_KEY_BYTES, SIGNATURE_BYTES, SIGNATURE_BYTES]
  const [signing, agreement, signature, previousSignature] = parts.map((part, at) => {
    const raw = decode(part, sizes[at]!)
    if (raw === undefined) throw refused(`must have ${sizes[at]!} bytes of base64url`, part)
    return raw
  })
  return {
    ...{ generation, keys: { signing: signing!, agreement: agreement! } },
    ...{ signature: signature!, previousSignature },
  }
}

/** Whether the published keys signed themselves for this Node. */
export const isOwnIdentity = (subject: IdentitySubject, identity: PublishedIdentity): boolean =>
  makeVerifier(identity.keys.signing)(
    signedBytes(subject, identity.generation, identity.keys),
    identity.signature,
  )

/** Whether the keys of the generation before signed these. */
export const isSuccessor = (
  subject: IdentitySubject,
  identity: PublishedIdentity,
  previous: Verifier,
): boolean =>
  identity.previousSignature !== undefined &&
  previous(signedBytes(subject, identity.generation, identity.keys), identity.previousSignature)
