// SPDX-License-Identifier: Apache-2.0
import { EndpointInBytes, readPorts, type EndpointShape, type EndpointView } from './endpoint.js'
import { cut, Fields } from './fields.js'
import { Sink } from './sink.js'

export interface EndpointsView {
  /** Every address of every subset, ready and not ready, in the order of the bytes. */
  readonly endpoints: readonly EndpointView[]
}

const SUBSET = 2
const ADDRESSES = 1
const NOT_READY_ADDRESSES = 2
const PORTS = 3
const PORT_PROTOCOL = 3
const SHAPE: EndpointShape = { address: 1, node: 4, topology: 0, conditions: 0 }

/** The addresses of the subset that `subset` stands on, with their places in the whole object. */
const readSubset = (subset: Fields): EndpointView[] => {
  const found: EndpointView[] = []
  const ports = readPorts(subset.inside(), PORTS, PORT_PROTOCOL)
  const inside = subset.inside()
  while (inside.next()) {
    const isReady = inside.number === ADDRESSES
    if (isReady || inside.number === NOT_READY_ADDRESSES)
      found.push(new EndpointInBytes(inside, SHAPE, { isReady, ports }))
  }
  return found
}

/** Read what pruning needs of an Endpoints object. @throws WireError */
export const readEndpoints = (raw: Uint8Array): EndpointsView => {
  const endpoints: EndpointView[] = []
  const fields = new Fields(raw)
  while (fields.next()) {
    if (fields.number !== SUBSET) continue
    // Not spread: a subset may have more addresses than a call has room for arguments.
    for (const endpoint of readSubset(fields)) endpoints.push(endpoint)
  }
  return { endpoints }
}

/**
 * The object without the addresses that `keep` rejects; the same buffer when it rejects none. `index` counts addresses as
 * `readEndpoints` does. A subset that loses all its addresses stays, with its ports. @throws WireError
 */
export const pruneEndpoints = (
  raw: Uint8Array,
  keep: (endpoint: EndpointView, index: number) => boolean,
): Uint8Array => {
  const fields = new Fields(raw)
  const pruned = new Sink(raw.length)
  let seen = 0
  let copied = 0
  while (fields.next()) {
    if (fields.number !== SUBSET) continue
    const gone = readSubset(fields)
      .filter(endpoint => !keep(endpoint, seen++))
      .map(({ start, end }) => ({ start: start - fields.from, end: end - fields.from }))
    if (gone.length === 0) continue
    pruned.copy(raw.subarray(copied, fields.start))
    pruned.bytes(SUBSET, cut(raw.subarray(fields.from, fields.end), gone))
    copied = fields.end
  }
  return copied === 0 ? raw : pruned.copy(raw.subarray(copied)).take()
}
