// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from './json.js'

/** The value under nested keys; undefined when one is missing. Keys of prototypes are missing. */
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

/** The object under these keys; empty when missing. */
export const mapAt = (value: unknown, ...keys: readonly string[]): JsonMap => {
  const found = valueAt(value, ...keys)
  return isMap(found) ? found : {}
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
