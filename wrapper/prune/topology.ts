// SPDX-License-Identifier: Apache-2.0
import type { EndpointView } from '../wire/endpoint.js'
import type { CutReason } from './decision.js'
import type { Surroundings } from './surroundings.js'
import { ANY_NODE } from './topology-keys.js'

const shares = (key: string, node: string, around: Surroundings): boolean =>
  key === ANY_NODE || around.sharesValue(key, node)

/** Endpoints within the topology whatever the labels: those without a node, and those on this node. */
const isAlwaysNear = ({ node }: EndpointView, { self }: Surroundings): boolean =>
  node === undefined || node === self

/**
 * The key that decides for a port in the ordered mode: the first that finds a usable endpoint, or else the first
 * that finds any.
 */
const firstKey = (
  keys: readonly string[],
  port: string,
  endpoints: readonly EndpointView[],
  around: Surroundings,
): readonly string[] => {
  const finds = (key: string, isWanted: (endpoint: EndpointView) => boolean): boolean =>
    endpoints.some(
      endpoint =>
        endpoint.node !== undefined &&
        endpoint.ports.includes(port) &&
        isWanted(endpoint) &&
        shares(key, endpoint.node, around),
    )
  const isAlive = ({ node, isUsable }: EndpointView): boolean =>
    isUsable && (node === around.self || !around.healthIsFresh || around.health(node!) !== 'dead')
  const first = keys.find(key => finds(key, isAlive)) ?? keys.find(key => finds(key, () => true))
  return first === undefined ? [] : [first]
}

/**
 * The keys that decide for endpoints with these ports. In the mode `any` all of them do, since one match is
 * enough.
 */
const countingKeys = (
  keys: readonly string[],
  endpoints: readonly EndpointView[],
  around: Surroundings,
): ((ports: readonly string[]) => readonly string[]) => {
  if (around.keysMode === 'any') return () => keys
  const all = [...new Set(endpoints.flatMap(({ ports }) => ports))]
  const ofPort = new Map(all.map(port => [port, firstKey(keys, port, endpoints, around)]))
  return ports => ports.flatMap(port => ofPort.get(port)!)
}

/**
 * Why each endpoint is outside the topology; undefined for those within. Nodes that are not known to
 * share a value are outside: that must not open a service to the whole cluster. This node's own endpoints are always within, so that
 * a node without labels serves itself.
 */
export const outsideTopology = (
  keys: readonly string[],
  endpoints: readonly EndpointView[],
  around: Surroundings,
): readonly (CutReason | undefined)[] => {
  if (keys.length === 0) return endpoints.map(() => undefined)
  const far = around.isSelfKnown ? 'no-topology-match' : 'own-node-not-listed'
  const counting = countingKeys(keys, endpoints, around)
  const known = new Map<readonly string[], Map<string, CutReason | undefined>>()
  return endpoints.map(endpoint => {
    const { node, ports } = endpoint
    if (node === undefined || isAlwaysNear(endpoint, around)) return undefined
    const byNode = known.get(ports) ?? new Map<string, CutReason | undefined>()
    known.set(ports, byNode)
    if (!byNode.has(node)) {
      const isNear = counting(ports).some(key => shares(key, node, around))
      byNode.set(node, isNear ? undefined : far)
    }
    return byNode.get(node)
  })
}
