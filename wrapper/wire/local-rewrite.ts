// SPDX-License-Identifier: Apache-2.0
import { Fields } from './fields.js'
import { Sink } from './sink.js'

/** Where the apiserver is reached from this node. */
export interface LocalTarget {
  readonly address: string
  readonly port: number
}

/** `metadata` of both kinds. */
const METADATA = 1

const metadataOf = (raw: Uint8Array): Uint8Array => {
  const fields = new Fields(raw)
  while (fields.next()) if (fields.number === METADATA) return fields.whole()
  return new Uint8Array(0)
}

/** One subset: one address, one port. */
const writeSubset = (sink: Sink, { address, port }: LocalTarget): void => {
  sink.message(2, subset =>
    subset
      // An EndpointAddress: Go writes the hostname although it is empty.
      .message(1, entry => entry.text(1, address).text(3, ''))
      .message(3, entry => entry.text(1, 'https').number(2, port).text(3, 'TCP')),
  )
}

const writeSlice = (sink: Sink, { address, port }: LocalTarget): void => {
  sink
    .message(2, endpoint =>
      // Conditions as the apiserver's own slice has them.
      endpoint.text(1, address).message(2, conditions => conditions.number(1, 1)),
    )
    .message(3, entry => entry.text(1, 'https').text(2, 'TCP').number(3, port))
    .text(4, address.includes(':') ? 'IPv6' : 'IPv4')
}

/** The object with one endpoint and one port, `https` over TCP; its metadata stays. @throws WireError */
export const localRewrite = (
  kind: 'Endpoints' | 'EndpointSlice',
  raw: Uint8Array,
  target: LocalTarget,
): Uint8Array => {
  const sink = new Sink(raw.length + 64).copy(metadataOf(raw))
  if (kind === 'Endpoints') writeSubset(sink, target)
  else writeSlice(sink, target)
  return sink.take()
}
