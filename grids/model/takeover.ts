// SPDX-License-Identifier: Apache-2.0
import type { PatchOperation } from '../../core/json-patch.js'
import type { LiveChild, ManagedFields } from './live.js'
import { MANAGER, SUPEREDGE_MANAGER } from './marks.js'

const isOurs = ({ manager, operation }: ManagedFields): boolean =>
  manager === MANAGER && operation === 'Apply'

const isTheirs = ({ manager, operation, subresource }: ManagedFields): boolean =>
  manager === SUPEREDGE_MANAGER && operation === 'Update' && subresource === ''

/**
 * The patch that transfers a child's managed fields from SuperEdge's controller to us, to be sent before the first apply.
 * Our apply then removes those that we do not want; fields of others stay theirs. Where we have applied before, SuperEdge's
 * entry is only removed, and fields that we never wanted stay without an owner. Undefined when there is nothing to
 * transfer. Valid only for this version of the object.
 */
export const takeoverPatch = (live: LiveChild): readonly PatchOperation[] | undefined => {
  const { managedFields, resourceVersion } = live
  const at = managedFields.findIndex(isTheirs)
  if (at === -1) return undefined
  const entry = `/metadata/managedFields/${at}`
  const isVersion = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }
  if (managedFields.some(isOurs)) return [isVersion, { op: 'remove', path: entry, value: null }]
  return [
    isVersion,
    { op: 'replace', path: `${entry}/manager`, value: MANAGER },
    { op: 'replace', path: `${entry}/operation`, value: 'Apply' },
  ]
}
