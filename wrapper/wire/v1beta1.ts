// SPDX-License-Identifier: Apache-2.0

const later = (): never => {
  throw new Error('comes with the next step')
}

/** A `discovery.k8s.io/v1` EndpointSlice as `v1beta1` has it: `topology` from node and zone. @throws WireError */
export const asV1beta1 = (_raw: Uint8Array): Uint8Array => later()
