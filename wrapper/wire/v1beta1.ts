// SPDX-License-Identifier: Apache-2.0
import { Fields } from './fields.js'
import { readPair } from './meta.js'
import { Sink } from './sink.js'

const ENDPOINT = 2
// Field numbers of an endpoint in v1, and of the one that differs in v1beta1.
const TOPOLOGY = 5
const NODE_NAME = 6
const ZONE = 7
const HINTS = 8
const HINTS_V1BETA1 = 7

const HOSTNAME_LABEL = 'kubernetes.io/hostname'
const ZONE_LABEL = 'topology.kubernetes.io/zone'

/** The fields that come after those that both versions share. */
interface Rest {
  readonly topology: Map<string, string>
  node: string | undefined
  zone: string | undefined
  hints: Uint8Array | undefined
}

const takeRest = (field: Fields, rest: Rest): void => {
  if (field.number === TOPOLOGY) rest.topology.set(...readPair(field.inside()))
  else if (field.number === NODE_NAME) rest.node = field.text()
  else if (field.number === ZONE) rest.zone = field.text()
  else if (field.number === HINTS) rest.hints = field.content()
}

const writeRest = (sink: Sink, { topology, node, zone, hints }: Rest): void => {
  if (node !== undefined) topology.set(HOSTNAME_LABEL, node)
  if (zone !== undefined) topology.set(ZONE_LABEL, zone)
  for (const key of [...topology.keys()].sort())
    sink.message(TOPOLOGY, entry => entry.text(1, key).text(2, topology.get(key)!))
  if (node !== undefined) sink.text(NODE_NAME, node)
  if (hints !== undefined) sink.bytes(HINTS_V1BETA1, hints)
}

const writeEndpoint = (sink: Sink, endpoint: Fields): void => {
  const rest: Rest = { topology: new Map(), node: undefined, zone: undefined, hints: undefined }
  while (endpoint.next()) {
    if (endpoint.number < TOPOLOGY) sink.copy(endpoint.whole())
    else takeRest(endpoint, rest)
  }
  writeRest(sink, rest)
}

/**
 * Convert a `discovery.k8s.io/v1` EndpointSlice to `v1beta1`: `topology` contains node and zone, under the keys of the
 * node labels for them, and `zone` has no field of its own. @throws WireError
 */
export const asV1beta1 = (raw: Uint8Array): Uint8Array => {
  const sink = new Sink(raw.length * 2)
  const fields = new Fields(raw)
  while (fields.next()) {
    if (fields.number === ENDPOINT)
      sink.message(ENDPOINT, endpoint => writeEndpoint(endpoint, fields.inside()))
    else sink.copy(fields.whole())
  }
  return sink.take()
}
