// SPDX-License-Identifier: Apache-2.0
import type { EndpointView } from '../wire/endpoint.js'
import type { Decision } from './decision.js'
import type { Surroundings } from './surroundings.js'
import { outsideTopology } from './topology.js'
import type { ServiceRule } from './topology-keys.js'

export type { NodeHealth, Surroundings } from './surroundings.js'

/** What the endpoints of a service depend on. */
export interface JudgedService {
  /** `namespace/name`. */
  readonly name: string
  /** Undefined when the Service is not known: health counts then, topology does not. */
  readonly rule: ServiceRule | undefined
}

const KEPT: Decision = { keep: true, reason: 'kept' }
const DEAD: Decision = { keep: false, reason: 'node-dead' }
const LAST: Decision = { keep: true, reason: 'kept-last-of-port' }

/** The decision about an endpoint within the topology by its node's health alone. */
const byHealth = ({ node }: EndpointView, around: Surroundings): Decision => {
  if (node === undefined) return { keep: true, reason: 'kept-no-node' }
  // This node runs the wrapper, so it is not dead, even if an old report says so.
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
 * The decisions about all endpoints of one service and one address family, over all its slices, in the same order.
 * Topology comes first and fails closed. Health comes second and fails open: a dead node's endpoint is left out
 * only if, for each of its ports, another endpoint within the topology remains that is not dead and that
 * kube-proxy would use.
 */
export const decide = (
  service: JudgedService,
  endpoints: readonly EndpointView[],
  around: Surroundings,
): readonly Decision[] => {
  const outside = outsideTopology(service.rule?.keys ?? [], endpoints, around)
  const decisions = endpoints.map((endpoint, at): Decision => {
    const reason = outside[at]
    return reason === undefined ? byHealth(endpoint, around) : { keep: false, reason }
  })
  const served = new Set<string>()
  for (const [at, endpoint] of endpoints.entries())
    if (endpoint.isUsable && decisions[at]!.keep)
      for (const port of endpoint.ports) served.add(port)
  const isLast = ({ ports }: EndpointView): boolean => ports.some(port => !served.has(port))
  return decisions.map((decision, at) =>
    decision === DEAD && isLast(endpoints[at]!) ? LAST : decision,
  )
}
