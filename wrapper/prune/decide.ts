// SPDX-License-Identifier: Apache-2.0
import type { EndpointView } from '../wire/endpoint.js'
import type { Fate } from './fate.js'
import type { Surroundings } from './surroundings.js'
import { outsideTopology } from './topology.js'
import type { ServiceRule } from './topology-keys.js'

export type { NodeHealth, Surroundings } from './surroundings.js'

/** A service as far as its endpoints depend on it. */
export interface JudgedService {
  /** `namespace/name`. */
  readonly name: string
  /** Undefined when no such Service is known: no topology then, and health all the same. */
  readonly rule: ServiceRule | undefined
}

const KEPT: Fate = { keep: true, reason: 'kept' }
const DEAD: Fate = { keep: false, reason: 'node-dead' }
const LAST: Fate = { keep: true, reason: 'kept-last-of-port' }

/** What health makes of an endpoint within the topology, before anybody asks what is left. */
const byHealth = ({ node }: EndpointView, around: Surroundings): Fate => {
  if (node === undefined) return { keep: true, reason: 'kept-no-node' }
  // A node that runs this is not dead, whatever an old view of it says.
  if (node === around.self) return { keep: true, reason: 'kept-own-node' }
  switch (around.health(node)) {
    case 'normal':
      return KEPT
    case 'unknown':
      return { keep: true, reason: 'kept-unknown-node' }
    case 'dead':
      return around.healthIsFresh ? DEAD : { keep: true, reason: 'kept-stale-health' }
  }
}

/**
 * What becomes of the endpoints of one service and one address family, those of all its slices together: one fate per
 * endpoint, in the same order.
 *
 * Topology comes first and fails closed, then health, which fails open: it takes endpoints only where for each of their
 * ports one that is not dead, and that a proxy would use, is left within the topology.
 */
export const decide = (
  service: JudgedService,
  endpoints: readonly EndpointView[],
  around: Surroundings,
): readonly Fate[] => {
  const outside = outsideTopology(service.rule?.keys ?? [], endpoints, around)
  const fates = endpoints.map((endpoint, at): Fate => {
    const reason = outside[at]
    return reason === undefined ? byHealth(endpoint, around) : { keep: false, reason }
  })
  const served = new Set<string>()
  for (const [at, endpoint] of endpoints.entries())
    if (endpoint.isUsable && fates[at]!.keep) for (const port of endpoint.ports) served.add(port)
  const isLast = ({ ports }: EndpointView): boolean => ports.some(port => !served.has(port))
  return fates.map((fate, at) => (fate === DEAD && isLast(endpoints[at]!) ? LAST : fate))
}
