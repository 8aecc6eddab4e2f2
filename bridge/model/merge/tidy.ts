// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { KINDS, type ObjectType } from '../resource/kinds.js'

const without = (map: JsonMap, left: readonly string[]): JsonMap =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !left.includes(key)))

/** The metadata of an object; empty where there is none. */
export const metadataOf = (object: JsonMap): JsonMap =>
  isMap(object['metadata']) ? object['metadata'] : {}

/**
 * An object as edges are sent it: with `apiVersion` and `kind`, which items of lists lack and without which an edge
 * panics; without `managedFields`, which are half of a small object and of no use there.
 */
export const tidyObject = (type: ObjectType, object: JsonMap): JsonMap => {
  const { apiVersion, kind } = KINDS[type]
  return { ...object, apiVersion, kind, metadata: without(metadataOf(object), ['managedFields']) }
}

/** The object that answers for one that may be missing: every reference to it is optional. It has no content. */
export const emptyObject = (
  type: ObjectType,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): JsonMap => {
  const { apiVersion, kind } = KINDS[type]
  return { apiVersion, kind, metadata: { name, ...(namespace === '' ? {} : { namespace }) } }
}

/** Bookkeeping of the apiserver that changes with every write, a status included. */
const VOLATILE = ['managedFields', 'resourceVersion', 'generation'] as const

/** What the edge itself reports, and need not be sent to it. */
const REPORTED: Readonly<Partial<Record<ObjectType, readonly string[]>>> = {
  node: ['status'],
  pod: ['status'],
}

/** Conditions that others than the edge set, and for which the edge waits before it calls the pod ready. */
const gatesOf = (object: JsonMap): unknown => {
  const spec = isMap(object['spec']) ? object['spec'] : {}
  const status = isMap(object['status']) ? object['status'] : {}
  const { readinessGates: gates } = spec
  const { conditions } = status
  if (!Array.isArray(gates) || gates.length === 0 || !Array.isArray(conditions)) return undefined
  const names = new Set<unknown>(gates.filter(isMap).map(({ conditionType }) => conditionType))
  return conditions
    .filter(isMap)
    .flatMap(({ type, status }) => (names.has(type) ? [[type, status]] : []))
}

/**
 * The part of an object that an edge must be sent when it changes, as text. Status patches of the edge itself do not
 * change it; the time at which a deletion was asked for, and the state of readiness gates, do.
 */
export const essenceOf = (type: ObjectType, object: JsonMap): string =>
  writeExactJson([
    without(object, ['apiVersion', 'kind', 'metadata', ...(REPORTED[type] ?? [])]),
    without(metadataOf(object), VOLATILE),
    gatesOf(object),
  ])
