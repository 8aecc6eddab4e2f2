// SPDX-License-Identifier: Apache-2.0

export type NodeHealth = 'normal' | 'dead' | 'unknown'

/** What is known when endpoints are judged. */
export interface Surroundings {
  /** The node that the wrapper runs on. */
  readonly self: string
  /**
   * Undefined for a node that does not exist. For this node itself: its last known labels, even if it does not
   * exist.
   */
  nodeLabels(name: string): ReadonlyMap<string, string> | undefined
  /** The last known health; endpoints are left out for it only while `healthIsFresh`. */
  health(name: string): NodeHealth
  /** False when the last report is older than the limit: then no endpoint is left out for health. */
  readonly healthIsFresh: boolean
  /** `any`: one key that matches is enough. `ordered`: the first key that finds an endpoint decides. */
  readonly keysMode: 'any' | 'ordered'
}
