// SPDX-License-Identifier: Apache-2.0
import { parseNodeName, type NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'

export const SHOP: NodeName = parseNodeName('shop-1')
export const OTHER: NodeName = parseNodeName('shop-2')

/** A pod of namespace `till` on SHOP. */
export const pod = (
  name: string,
  spec: JsonMap = {},
  more: { readonly uid?: string; readonly metadata?: JsonMap; readonly status?: JsonMap } = {},
): JsonMap => ({
  metadata: {
    ...{ name, namespace: 'till', uid: more.uid ?? `uid-${name}`, resourceVersion: '10' },
    ...more.metadata,
  },
  spec: { nodeName: SHOP, serviceAccountName: 'cashier', containers: [], ...spec },
  status: more.status ?? { phase: 'Running' },
})

/** A volume that is a ConfigMap. */
export const configVolume = (name: string, optional?: boolean): JsonMap => ({
  name: `v-${name}`,
  configMap: { name, ...(optional === undefined ? {} : { optional }) },
})
