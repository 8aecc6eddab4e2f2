// SPDX-License-Identifier: Apache-2.0
import { copyOf, type KubeObject } from './object.js'
import type { Store } from './store.js'

/** Finalizers by which the garbage collector learns how an owner is deleted. */
export const FOREGROUND = 'foregroundDeletion'
export const ORPHAN = 'orphan'

/** What the `propagationPolicy` of a DELETE asks for: a finalizer of the garbage collector's, or none. */
export const finalizerOf = (propagation: string): string | undefined => {
  if (propagation === 'Foreground') return FOREGROUND
  return propagation === 'Orphan' ? ORPHAN : undefined
}

/**
 * Remove an object; one with finalizers stays, marked, until they are gone.
 * @param now the API's time @param finalizer is added first @returns its last or present state
 */
export const removeOrMark = (
  store: Store,
  resource: string,
  old: KubeObject,
  { now, finalizer }: { readonly now: string; readonly finalizer?: string | undefined },
): KubeObject => {
  const { finalizers = [] } = old.metadata
  const all = finalizer === undefined ? finalizers : [...new Set([...finalizers, finalizer])]
  if (all.length === 0) return store.remove(resource, old)
  const isMarked = old.metadata.deletionTimestamp !== undefined
  if (isMarked && all.length === finalizers.length) return old
  const object = copyOf(old)
  object.metadata.finalizers = all
  object.metadata.deletionTimestamp ??= now
  return store.put(resource, object)
}
