// SPDX-License-Identifier: Apache-2.0
import type { JsonMap, Kind } from './kinds.js'

const later = (): never => {
  throw new Error('comes with the next step')
}

/** The object as kube-apiserver writes it in JSON, without `apiVersion` and `kind`. @throws WireError */
export const toJson = (_kind: Kind | 'Status' | 'ListMeta', _raw: Uint8Array): JsonMap => later()
