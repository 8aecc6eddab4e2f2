// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from 'node:util'

/** A JSON object whose fields have not been checked yet. */
export type JsonMap = Record<string, unknown>

/** True for `{…}`, false for lists, null and everything else. */
export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Set a key so that even `__proto__` is a key like any other. */
export const setKey = (map: JsonMap, key: string, value: unknown): void => {
  Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true })
}

/** Equal as JSON, whatever the order of the keys. */
export const sameJson = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a, b)

/** Bytes that a value takes as JSON; 0 for undefined. */
export const jsonBytes = (value: unknown): number =>
  value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))

/** Freeze a value of maps and lists deeply. */
export const freeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) freeze(inner)
  }
  return value
}
