// SPDX-License-Identifier: Apache-2.0

export type KeepReason =
  | 'kept'
  /** It runs on this node, which does not believe ill of itself. */
  | 'kept-own-node'
  /** The object does not say where it runs. */
  | 'kept-no-node'
  /** The health of its node is not known. */
  | 'kept-unknown-node'
  /** Its node was dead when we last heard; that is too long ago. */
  | 'kept-stale-health'
  /** Its node is dead, and so are those of all others: better a wrong judgement than an empty service. */
  | 'kept-last-of-service'
  /** This node is not in the list, or lacks the labels, so that topology cannot be judged. */
  | 'kept-topology-unknown'

export type CutReason = 'no-topology-match' | 'node-dead'

/** What becomes of one endpoint, and why. */
export type Fate =
  | { readonly keep: true; readonly reason: KeepReason }
  | { readonly keep: false; readonly reason: CutReason }
