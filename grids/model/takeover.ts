// SPDX-License-Identifier: Apache-2.0
import type { PatchOperation } from '../../core/json-patch.js'
import type { LiveChild } from './live.js'
import { MANAGER, SUPEREDGE_MANAGER } from './words.js'

/**
 * The patch that ends SuperEdge's hold on a child which we have applied: without it the fields that its controller set
 * and we do not would stay for ever. Undefined where there is nothing to end, and before our first apply: until then its
 * entry is the only one, and the apiserver would not let it go. It holds for this version of the object alone.
 */
export const takeoverPatch = (live: LiveChild): readonly PatchOperation[] | undefined => {
  const { managedFields, resourceVersion } = live
  const isOurs = managedFields.some(
    ({ manager, operation }) => manager === MANAGER && operation === 'Apply',
  )
  const at = managedFields.findIndex(
    ({ manager, operation, subresource }) =>
      manager === SUPEREDGE_MANAGER && operation === 'Update' && subresource === '',
  )
  if (!isOurs || at === -1) return undefined
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    { op: 'remove', path: `/metadata/managedFields/${at}`, value: null },
  ]
}
