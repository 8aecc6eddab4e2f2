// SPDX-License-Identifier: Apache-2.0
import { copyOf, sameJson, type JsonMap, type KubeObject } from './object.js'
import type { ResourcePath } from './paths.js'
import type { Row } from './row.js'

const spec = ({ metadata: _, status: __, ...rest }: KubeObject): JsonMap => rest
const allButStatus = ({ status: _, ...rest }: KubeObject): JsonMap => rest

/** Whether a change is one that metadata.generation counts. */
const counts = ({ generation }: Row, now: KubeObject, old: KubeObject): boolean => {
  if (generation === 'none') return false
  const part = generation === 'all' ? allButStatus : spec
  return !sameJson(part(now), part(old))
}

/** The new state, with the fields that this request must not change taken from the old one. */
export const nextState = (
  { row, subresource }: Pick<ResourcePath, 'row' | 'subresource'>,
  old: KubeObject,
  next: KubeObject,
): KubeObject => {
  const base = subresource === 'status' ? copyOf(old) : next
  const metadata =
    row.isCustom && subresource === 'status'
      ? { ...copyOf(old.metadata), managedFields: next.metadata['managedFields'] }
      : next.metadata
  const object: KubeObject = { ...base, metadata }
  if (subresource === 'status') object['status'] = next['status']
  else if (row.status) object['status'] = old['status']
  if (object['status'] === undefined) delete object['status']
  row.fill?.(object)
  metadata.uid = old.metadata.uid
  metadata.resourceVersion = old.metadata.resourceVersion
  metadata.creationTimestamp = old.metadata.creationTimestamp
  for (const key of ['namespace', 'generateName', 'deletionTimestamp', 'generation']) {
    if (old.metadata[key] === undefined) Reflect.deleteProperty(metadata, key)
    else metadata[key] = old.metadata[key]
  }
  if (counts(row, object, old)) metadata.generation = (old.metadata.generation ?? 0) + 1
  return object
}
