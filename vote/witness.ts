// SPDX-License-Identifier: Apache-2.0
import type { VoteOptions } from './options.js'

/** What the third party of a zone of two answered, as the caller last saw it. */
export interface WitnessAnswer {
  readonly state: 'reachable' | 'unreachable' | 'unknown'
  /** Only the apiserver can tell: whether the peer's Lease is still being renewed. */
  readonly peerLease: 'fresh' | 'stopped' | 'unknown'
}

/**
 * How the witness votes about the peer. `absent`: this zone has none; `abstains`: it has one that says nothing;
 * `with-us`: whatever the own node says; else what it says itself.
 */
export type WitnessVote = 'absent' | 'abstains' | 'with-us' | 'up' | 'down'

/** For zones that need no witness. */
export const NO_WITNESS: WitnessAnswer = { state: 'unknown', peerLease: 'unknown' }

/**
 * The third voice in a zone of two. The apiserver is heard only with what it knows about the peer: a reachable
 * apiserver whose copy of the peer's Lease still moves says that the peer lives and only the link between the two is
 * broken. A plain target cannot say that: it shows only that the own node is not the one cut off. Where both nodes reach
 * it while they do not reach each other, both would condemn; so name a target that a node which is cut off cannot reach.
 */
export const witnessVote = (
  options: VoteOptions,
  size: number,
  answer: WitnessAnswer,
): WitnessVote => {
  if (size !== 2 || options.witness === 'none') return 'absent'
  if (answer.state !== 'reachable') return 'abstains'
  if (options.witness === 'target') return 'with-us'
  if (answer.peerLease === 'unknown') return 'abstains'
  return answer.peerLease === 'stopped' ? 'down' : 'up'
}

/** Whether the witness counts as a voter at this moment. */
export const witnessSpeaks = (vote: WitnessVote): boolean =>
  vote !== 'absent' && vote !== 'abstains'
