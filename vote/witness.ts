// SPDX-License-Identifier: Apache-2.0
import type { VoteOptions } from './options.js'

/** The last answer of the third party of a zone of two. */
export interface WitnessAnswer {
  readonly state: 'reachable' | 'unreachable' | 'unknown'
  /** Only the apiserver can tell: whether the peer's Lease is still being renewed. */
  readonly peerLease: 'fresh' | 'stopped' | 'unknown'
}

/**
 * How the witness votes about the peer. `absent`: this zone has none; `abstains`: it gives no answer; `with-us`: it adds a vote to
 * whatever the own node says; `up` and `down` are its own findings.
 */
export type WitnessVote = 'absent' | 'abstains' | 'with-us' | 'up' | 'down'

/** The answer in zones that need no witness. */
export const NO_WITNESS: WitnessAnswer = { state: 'unknown', peerLease: 'unknown' }

/**
 * The third vote in a zone of two. The apiserver votes by the peer's Lease: while that is renewed, the peer lives, and only the
 * link between the two nodes is broken. A plain target shows only that the own node is not the one cut off. If both nodes reach
 * it but not each other, both would condemn, so the target must be one that a node which is cut off cannot reach.
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
