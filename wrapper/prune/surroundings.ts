// SPDX-License-Identifier: Apache-2.0

export type NodeHealth = 'normal' | 'dead' | 'unknown'

/** What decisions about endpoints depend on. */
export interface Surroundings {
  /** The node that the wrapper runs on. */
  readonly self: string
  /** Whether this node was ever listed: without its labels no other node shares a value with it. */
  readonly isSelfKnown: boolean
  /**
   * Whether a node, possibly this one, has this node's value of a label, as far as is known; false when this node has no
   * value.
   */
  sharesValue(label: string, node: string): boolean
  /** The last known health; endpoints are left out for it only while `healthIsFresh`. */
  health(name: string): NodeHealth
  /** False when the last report is older than the limit: then no endpoint is left out for health. */
  readonly healthIsFresh: boolean
  /** `any`: one key that matches is enough. `ordered`: the first key that finds an endpoint decides. */
  readonly keysMode: 'any' | 'ordered'
}
