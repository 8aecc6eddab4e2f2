// SPDX-License-Identifier: Apache-2.0
import { EndpointInBytes, readPorts, type EndpointShape, type EndpointView } from './endpoint.js'
import { cut, Fields } from './fields.js'
import { readLabels } from './meta.js'

export interface SliceView {
  /** The label `kubernetes.io/service-name`, never a guess from the slice's name. */
  readonly service: string | undefined
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly addressType: string
  /** In the order of the slice; ranges are those of the whole field. */
  readonly endpoints: readonly EndpointView[]
}

const SERVICE_NAME = 'kubernetes.io/service-name'
const ENDPOINT = 2
const PORTS = 3
const PORT_PROTOCOL = 2
const ADDRESS_TYPE = 4
const SHAPE: EndpointShape = { address: 1, node: 6, topology: 5, conditions: 2 }

/** Read what pruning needs of an EndpointSlice (v1; v1beta1 has the same fields). @throws WireError */
export const readSlice = (raw: Uint8Array): SliceView => {
  const endpoints: EndpointView[] = []
  let addressType = ''
  const fields = new Fields(raw)
  const listed = { isReady: true, ports: readPorts(fields.again(), PORTS, PORT_PROTOCOL) }
  while (fields.next()) {
    if (fields.number === ENDPOINT) endpoints.push(new EndpointInBytes(fields, SHAPE, listed))
    else if (fields.number === ADDRESS_TYPE) addressType = fields.text()
  }
  const service = readLabels(raw).get(SERVICE_NAME)
  return { service: service === '' ? undefined : service, addressType, endpoints }
}

/** The slice without the endpoints that `keep` rejects; the same buffer when it rejects none. @throws WireError */
export const pruneSlice = (
  raw: Uint8Array,
  keep: (endpoint: EndpointView, index: number) => boolean,
): Uint8Array =>
  cut(
    raw,
    readSlice(raw).endpoints.filter((endpoint, index) => !keep(endpoint, index)),
  )
