// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../core/ids.js'
import {
  isOwnIdentity,
  isSuccessor,
  type IdentitySubject,
  type PublishedIdentity,
} from './annotation.js'
import { makeVerifier, type PublicKeys } from './node-keys.js'

/** The keys that a node is known by: those first read from its Node, until `decidePin` takes others. */
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
  /** Milliseconds since something signed with the pinned keys last counted; Infinity when nothing ever did. */
  readonly silentMs: number
  /** Whether the agent at the node's address signs with the pinned keys; it is asked once its Node shows others. */
  readonly holder: Holder
}

/** `silent`: asked, and no answer was signed with the pinned keys. */
export type Holder = 'unasked' | 'answered' | 'silent'

/** When to take keys that the pinned ones did not sign. */
export interface ChangeRules {
  readonly identity: 'prefer' | 'require'
  /** `--identity-change-after` in milliseconds; used with `require`. */
  readonly changeAfterMs: number
}

export type PinDecision =
  | { readonly kind: 'keep' }
  | { readonly kind: 'take'; readonly pin: Pin }
  /** The Node has no identity, or none any more. */
  | { readonly kind: 'none' }
  /** The Node shows other keys, not signed with the pinned ones, or none: accept that after `ms` more of silence. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** The same, but ask first whether the agent at the node's address has the pinned keys. */
  | { readonly kind: 'ask' }
  /** The agent at the node's address has the pinned keys, whatever its Node says: they stay. */
  | { readonly kind: 'dispute' }
  /** The annotation is not signed by the keys in it, or was made for another Node. */
  | { readonly kind: 'refuse' }

const isSame = (a: PublicKeys, b: PublicKeys): boolean =>
  a.signing.equals(b.signing) && a.agreement.equals(b.agreement)

export const isSamePin = (a: Pin, b: Pin): boolean =>
  a.generation === b.generation && a.uid === b.uid && isSame(a.keys, b.keys)

const pinOf = ({ node, uid }: IdentitySubject, { generation, keys }: PublishedIdentity): Pin => ({
  ...{ node, uid, generation, keys },
})

const isOf = ({ generation, keys }: Pin, published: PublishedIdentity): boolean =>
  generation === published.generation && isSame(keys, published.keys)

/** Whether the pinned keys signed the published ones. */
const isAnnounced = (before: Pin, { subject, published }: Look): boolean =>
  published !== undefined &&
  published.generation > before.generation &&
  // Equal keys with a later generation: something else wrote to the Node in between.
  (isSame(before.keys, published.keys) ||
    isSuccessor(subject, published, makeVerifier(before.keys.signing)))

/** For a change of keys that the pinned ones did not sign. */
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

/** Which keys to believe after a look at a member's Node. */
export const decidePin = (known: Pin | undefined, look: Look, rules: ChangeRules): PinDecision => {
  const { subject, published } = look
  // A recreated Node begins without pinned keys.
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
