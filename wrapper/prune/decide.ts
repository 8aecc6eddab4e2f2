// SPDX-License-Identifier: Apache-2.0
import type { EndpointView } from '../wire/endpoint.js'
import type { Fate } from './fate.js'
import type { ServiceRule } from './topology-keys.js'

export type NodeHealth = 'normal' | 'dead' | 'unknown'

/** What is known around the endpoints when they are judged. */
export interface Surroundings {
  /** The node that the wrapper runs on. */
  readonly self: string
  /** Undefined for a node that is not in the list. */
  nodeLabels(name: string): ReadonlyMap<string, string> | undefined
  health(name: string): NodeHealth
  /** False when the last word about health is older than the limit: then it takes nothing. */
  readonly healthIsFresh: boolean
  /** `any`: one key that matches is enough. `ordered`: the first key that finds an endpoint decides. */
  readonly keysMode: 'any' | 'ordered'
}

/** A service as far as its endpoints depend on it. */
export interface JudgedService {
  /** `namespace/name`. */
  readonly name: string
  /** Undefined when no such Service is known: no topology then, and health all the same. */
  readonly rule: ServiceRule | undefined
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/**
 * What becomes of the endpoints of one service and one address family, those of all its slices together: one fate per
 * endpoint, in the same order.
 */
export const decide = (
  _service: JudgedService,
  _endpoints: readonly EndpointView[],
  _around: Surroundings,
): readonly Fate[] => later()
