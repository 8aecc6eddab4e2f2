// SPDX-License-Identifier: Apache-2.0
import type { EndpointView } from './endpoint.js'

export interface EndpointsView {
  /** Every address of every subset, ready and not ready, in the order of the bytes. */
  readonly endpoints: readonly EndpointView[]
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/** Read what pruning asks of an Endpoints object. @throws WireError */
export const readEndpoints = (_raw: Uint8Array): EndpointsView => later()

/**
 * The object without the addresses that `keep` refuses; the very same buffer when it refuses none. `index` counts as
 * `readEndpoints` does. A subset that loses all its addresses stays, with its ports. @throws WireError
 */
export const pruneEndpoints = (
  _raw: Uint8Array,
  _keep: (endpoint: EndpointView, index: number) => boolean,
): Uint8Array => later()
