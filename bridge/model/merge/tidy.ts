// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { KINDS, type ObjectType } from '../resource/kinds.js'

const without = (map: JsonMap, left: readonly string[]): JsonMap =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !left.includes(key)))

/** An object's metadata; empty when missing. */
export const metadataOf = (object: JsonMap): JsonMap =>
  isMap(object['metadata']) ? object['metadata'] : {}

/**
 * An object in the form that edges are sent: with `apiVersion` and `kind`, which list items lack and without which an edge
 * panics; without `managedFields`, which take half of a small object and which edges do not use.
 */
export const tidyObject = (type: ObjectType, object: JsonMap): JsonMap => {
  const { apiVersion, kind } = KINDS[type]
  return { ...object, apiVersion, kind, metadata: without(metadataOf(object), ['managedFields']) }
}

/** An empty object, sent in place of a missing one when every reference to it is optional. */
export const emptyObject = (
  type: ObjectType,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): JsonMap => {
  const { apiVersion, kind } = KINDS[type]
  return { apiVersion, kind, metadata: { name, ...(namespace === '' ? {} : { namespace }) } }
}

/** Metadata that the apiserver changes with every write, even of a status. */
const VOLATILE = ['managedFields', 'resourceVersion', 'generation'] as const

/** Fields that the edge itself reports; they need not be sent to it. */
const REPORTED: Readonly<Partial<Record<ObjectType, readonly string[]>>> = {
  node: ['status'],
  pod: ['status'],
}

/** Conditions for readiness gates: others set them, and the edge waits for them before it reports the pod ready. */
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
 * The part of an object whose changes an edge must be sent, as text. It ignores the edge's own status patches and includes
 * the deletion timestamp and readiness gates.
 */
export const essenceOf = (type: ObjectType, object: JsonMap): string =>
  writeExactJson([
    without(object, ['apiVersion', 'kind', 'metadata', ...(REPORTED[type] ?? [])]),
    without(metadataOf(object), VOLATILE),
    gatesOf(object),
  ])
