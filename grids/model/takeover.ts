// SPDX-License-Identifier: Apache-2.0
import type { PatchOperation } from '../../core/json-patch.js'
import type { LiveChild, ManagedFields } from './live.js'
import { MANAGER, SUPEREDGE_MANAGER } from './words.js'

const isOurs = ({ manager, operation }: ManagedFields): boolean =>
  manager === MANAGER && operation === 'Apply'

const isTheirs = ({ manager, operation, subresource }: ManagedFields): boolean =>
  manager === SUPEREDGE_MANAGER && operation === 'Update' && subresource === ''

/**
 * The patch by which we succeed SuperEdge's controller on a child, to be sent before the first apply. What it set is then
 * ours, so that our apply takes away what we do not want; what others set stays theirs. Where we have applied already its
 * entry is only removed: what we never wanted then stays, owned by nobody. Undefined where there is nothing to take over.
 * It holds for this version of the object alone.
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
