// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../core/ids.js'
import {
  isOwnIdentity,
  isSuccessor,
  type IdentitySubject,
  type PublishedIdentity,
} from './annotation.js'
import { makeVerifier, type PublicKeys } from './node-keys.js'

/** The keys that a node is known by, from when its Node was first read until there is reason to believe others. */
export interface Pin {
  readonly node: NodeName
  /** `metadata.uid` of the Node. */
  readonly uid: string
  readonly generation: number
  readonly keys: PublicKeys
}

/** What a look at a member's Node showed. */
export interface Look {
  readonly subject: IdentitySubject
  /** Undefined where the annotation is missing. */
  readonly published: PublishedIdentity | undefined
  /** For how long nothing counted that the keys known before signed, in ms; Infinity when nothing ever did. */
  readonly silentMs: number
}

export type PinDecision =
  | { readonly kind: 'keep' }
  | { readonly kind: 'take'; readonly pin: Pin }
  /** It has no identity, or none any more. */
  | { readonly kind: 'none' }
  /** Other keys, for which those before do not vouch: only when who had those has been silent for long enough. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Whoever wrote the annotation does not have the keys, or wrote it for another Node. */
  | { readonly kind: 'refuse' }

const isSame = (a: PublicKeys, b: PublicKeys): boolean =>
  a.signing.equals(b.signing) && a.agreement.equals(b.agreement)

const pinOf = ({ node, uid }: IdentitySubject, { generation, keys }: PublishedIdentity): Pin => ({
  ...{ node, uid, generation, keys },
})

/**
 * Which keys to believe.
 * @param changeAfterMs `--identity-change-after`
 */
export const decidePin = (
  known: Pin | undefined,
  { subject, published, silentMs }: Look,
  changeAfterMs: number,
): PinDecision => {
  if (published === undefined) return { kind: 'none' }
  const isKnown = known?.uid === subject.uid
  if (isKnown && known.generation === published.generation && isSame(known.keys, published.keys))
    return { kind: 'keep' }
  if (!isOwnIdentity(subject, published)) return { kind: 'refuse' }
  const pin = pinOf(subject, published)
  if (!isKnown) return { kind: 'take', pin }
  const isAnnounced =
    published.generation > known.generation &&
    // The same keys with a later number: somebody else wrote to the Node in between.
    (isSame(known.keys, published.keys) ||
      isSuccessor(subject, published, makeVerifier(known.keys.signing)))
  const ms = isAnnounced ? 0 : changeAfterMs - silentMs
  return ms > 0 ? { kind: 'wait', ms } : { kind: 'take', pin }
}
