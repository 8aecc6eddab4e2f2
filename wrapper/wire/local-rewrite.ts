// SPDX-License-Identifier: Apache-2.0

/** Where the apiserver is reached from this node. */
export interface LocalTarget {
  readonly address: string
  readonly port: number
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/** The object with one endpoint and one port, `https` over TCP; its metadata stays. @throws WireError */
export const localRewrite = (
  _kind: 'Endpoints' | 'EndpointSlice',
  _raw: Uint8Array,
  _target: LocalTarget,
): Uint8Array => later()
