// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../core/json.js'

/** The value under nested keys; undefined when one is missing. */
export const valueAt = (value: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce<unknown>(
    (inner, key) => (isMap(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
    value,
  )

/** The text under these keys; '' when missing. */
export const textAt = (value: unknown, ...keys: readonly string[]): string => {
  const found = valueAt(value, ...keys)
  return typeof found === 'string' ? found : ''
}

/** The list under these keys; undefined when missing. */
export const listAt = (
  value: unknown,
  ...keys: readonly string[]
): readonly unknown[] | undefined => {
  const found = valueAt(value, ...keys)
  return Array.isArray(found) ? (found as readonly unknown[]) : undefined
}

/** The objects in the list under these keys. */
export const mapsAt = (value: unknown, ...keys: readonly string[]): readonly JsonMap[] =>
  (listAt(value, ...keys) ?? []).filter(isMap)

/** The status of the condition with this type; '' when missing. */
export const conditionStatus = (object: unknown, type: string): string =>
  textAt(
    mapsAt(object, 'status', 'conditions').find(condition => condition['type'] === type),
    'status',
  )

/** Epoch ms of a time in the API's format; undefined for anything else. */
export const instantOf = (text: string): number | undefined => {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** The newest timestamp in an object's managedFields, epoch ms: of the write under review or an earlier one. */
export const newestStamp = (object: unknown): number | undefined =>
  mapsAt(object, 'metadata', 'managedFields')
    .flatMap(entry => instantOf(textAt(entry, 'time')) ?? [])
    .reduce<number | undefined>(
      (newest, stamp) => (newest === undefined || stamp > newest ? stamp : newest),
      undefined,
    )
