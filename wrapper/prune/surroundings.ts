// SPDX-License-Identifier: Apache-2.0

export type NodeHealth = 'normal' | 'dead' | 'unknown'

/** What is known around the endpoints when they are judged. */
export interface Surroundings {
  /** The node that the wrapper runs on. */
  readonly self: string
  /** Undefined for a node that is not in the list. Of this node itself give the last known ones, listed or not. */
  nodeLabels(name: string): ReadonlyMap<string, string> | undefined
  /** The last known health; it takes endpoints away while `healthIsFresh`. */
  health(name: string): NodeHealth
  /** False when the last word about health is older than the limit: then it takes nothing. */
  readonly healthIsFresh: boolean
  /** `any`: one key that matches is enough. `ordered`: the first key that finds an endpoint decides. */
  readonly keysMode: 'any' | 'ordered'
}
