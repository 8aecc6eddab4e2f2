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
  /** Whether who is at the node's address has the keys known before: asked since its Node says something else. */
  readonly holder: Holder
}

/** `silent`: whoever is there, if anybody, did not answer with these keys. */
export type Holder = 'unasked' | 'answered' | 'silent'

/** How keys change for which those before do not vouch. */
export interface ChangeRules {
  readonly identity: 'prefer' | 'require'
  /** `--identity-change-after`; counts with `require`. */
  readonly changeAfterMs: number
}

export type PinDecision =
  | { readonly kind: 'keep' }
  | { readonly kind: 'take'; readonly pin: Pin }
  /** It has no identity, or none any more. */
  | { readonly kind: 'none' }
  /** Other keys, for which those before do not vouch, or none: only when who had those has been silent for long enough. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** … or when whoever is at the node's address was asked, and does not have those. */
  | { readonly kind: 'ask' }
  /** Who is at the node's address has the keys known before, whatever its Node says: these go on to count. */
  | { readonly kind: 'dispute' }
  /** Whoever wrote the annotation does not have the keys, or wrote it for another Node. */
  | { readonly kind: 'refuse' }

const isSame = (a: PublicKeys, b: PublicKeys): boolean =>
  a.signing.equals(b.signing) && a.agreement.equals(b.agreement)

/** The same keys of the same Node. */
export const isSamePin = (a: Pin, b: Pin): boolean =>
  a.generation === b.generation && a.uid === b.uid && isSame(a.keys, b.keys)

const pinOf = ({ node, uid }: IdentitySubject, { generation, keys }: PublishedIdentity): Pin => ({
  ...{ node, uid, generation, keys },
})

const isOf = ({ generation, keys }: Pin, published: PublishedIdentity): boolean =>
  generation === published.generation && isSame(keys, published.keys)

/** The keys known before vouch for what is published. */
const isAnnounced = (before: Pin, { subject, published }: Look): boolean =>
  published !== undefined &&
  published.generation > before.generation &&
  // The same keys with a later number: somebody else wrote to the Node in between.
  (isSame(before.keys, published.keys) ||
    isSuccessor(subject, published, makeVerifier(before.keys.signing)))

/** The Node says something for which the keys known before do not vouch. */
const decideChange = (
  { silentMs, holder }: Look,
  { identity, changeAfterMs }: ChangeRules,
  change: PinDecision,
): PinDecision => {
  if (identity === 'require') {
    const ms = changeAfterMs - silentMs
    return ms > 0 ? { kind: 'wait', ms } : change
  }
  if (holder === 'unasked') return { kind: 'ask' }
  return holder === 'answered' ? { kind: 'dispute' } : change
}

/** Which keys to believe. */
export const decidePin = (known: Pin | undefined, look: Look, rules: ChangeRules): PinDecision => {
  const { subject, published } = look
  // What was known of a Node that was deleted is worth nothing.
  const before = known?.uid === subject.uid ? known : undefined
  if (before !== undefined && published !== undefined && isOf(before, published))
    return { kind: 'keep' }
  if (published !== undefined && !isOwnIdentity(subject, published)) return { kind: 'refuse' }
  const change: PinDecision =
    published === undefined ? { kind: 'none' } : { kind: 'take', pin: pinOf(subject, published) }
  return before === undefined || isAnnounced(before, look)
    ? change
    : decideChange(look, rules, change)
}
