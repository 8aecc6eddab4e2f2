// SPDX-License-Identifier: Apache-2.0
import type { NodeHealth, Surroundings } from '../prune/decide.js'
import type { ServiceTopology } from './service-topology.js'

/** The health of nodes, by the local agent. */
export interface Health {
  of(node: string): NodeHealth
  /** False when its last report is too old to leave any endpoint out. */
  readonly isFresh: boolean
}

/** What decisions about endpoints depend on, apart from the endpoints themselves, as of the time of each decision. */
export const surroundingsOf = (
  { self, keysMode }: Pick<Surroundings, 'self' | 'keysMode'>,
  health: Health,
  topology: ServiceTopology,
): Surroundings => ({
  self,
  keysMode,
  get isSelfKnown() {
    return topology.isSelfKnown
  },
  sharesValue: (label, node) => topology.sharesValue(label, node),
  health: name => health.of(name),
  get healthIsFresh() {
    return health.isFresh
  },
})
