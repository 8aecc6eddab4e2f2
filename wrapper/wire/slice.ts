// SPDX-License-Identifier: Apache-2.0
import type { EndpointView } from './endpoint.js'

export interface SliceView {
  /** The label `kubernetes.io/service-name`, never a guess from the slice's name. */
  readonly service: string | undefined
  /** `IPv4`, `IPv6` or `FQDN`. */
  readonly addressType: string
  /** In the order of the slice; ranges are those of the whole field. */
  readonly endpoints: readonly EndpointView[]
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/** Read what pruning asks of an EndpointSlice (v1; v1beta1 has the same fields). @throws WireError */
export const readSlice = (_raw: Uint8Array): SliceView => later()

/** The slice without the endpoints that `keep` refuses; the very same buffer when it refuses none. @throws WireError */
export const pruneSlice = (
  _raw: Uint8Array,
  _keep: (endpoint: EndpointView, index: number) => boolean,
): Uint8Array => later()
