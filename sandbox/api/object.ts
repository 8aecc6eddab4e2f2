// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../core/json.js'

export { freeze, isMap, sameJson, type JsonMap } from '../../core/json.js'

/** What the server itself reads and sets of an object's metadata. */
export interface ObjectMeta extends JsonMap {
  name: string
  namespace?: string
  generateName?: string
  uid: string
  resourceVersion: string
  generation?: number
  creationTimestamp: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
}

/** A Kubernetes object. Those that come out of the store are frozen all the way down. */
export interface KubeObject extends JsonMap {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
}

/** The map at `key`, or an empty one. */
export const mapAt = (map: JsonMap, key: string): JsonMap => {
  const value = map[key]
  return isMap(value) ? value : {}
}

/** The maps of the list at `key`; an empty list when there is none. */
export const mapsAt = (map: JsonMap, key: string): JsonMap[] => {
  const value = map[key]
  return Array.isArray(value) ? value.filter(isMap) : []
}

/** The text at a dotted path; '' when there is none, as the real one does for its field selectors. */
export const textAt = (map: JsonMap, path: string): string => {
  let value: unknown = map
  for (const step of path.split('.')) value = isMap(value) ? value[step] : undefined
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : ''
}

/** A copy that shares nothing with the original. */
export const copyOf = <T>(value: T): T => structuredClone(value)

/** The key under which the store holds an object, and the order of lists: `namespace/name` or `name`. */
export const keyOf = (namespace: string | undefined, name: string): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
