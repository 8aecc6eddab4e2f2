// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from 'node:util'

/** A JSON object whose fields have not been checked yet. */
export type JsonMap = Record<string, unknown>

/** True for `{…}`, false for lists, null and everything else. */
export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Set a key so that even `__proto__` is a key like any other. */
export const setKey = (map: JsonMap, key: string, value: unknown): void => {
  // Of all keys only this one has a setter; to define the others takes several times as long.
  if (key !== '__proto__') map[key] = value
  else
    Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true })
}

/** Equal as JSON, whatever the order of the keys. */
export const sameJson = (a: unknown, b: unknown): boolean => isDeepStrictEqual(a, b)

/** Bytes that a value takes as JSON; 0 for undefined. */
export const jsonBytes = (value: unknown): number =>
  value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))

/** A deep copy of a value of maps and lists, its texts (but not the keys) as `textOf` makes them. */
export const copyJson = (
  value: unknown,
  textOf: (text: string) => string = text => text,
): unknown => {
  if (typeof value === 'string') return textOf(value)
  if (Array.isArray(value)) return value.map(item => copyJson(item, textOf))
  if (!isMap(value)) return value
  const copy: JsonMap = {}
  for (const key of Object.keys(value)) setKey(copy, key, copyJson(value[key], textOf))
  return copy
}

/** What a value costs beside its bytes, however small it is: as much as this many bytes. */
export const VALUE_WORK = 64

/** A map with more keys becomes a hash table, as do many maps that have no key in common. */
const WIDE_MAP = 128
/** What each key of a wide map costs, and each that no other map has: as much as this many values. */
const KEY_FACTOR = 8

const workOf = (value: unknown, known: Set<string>): number => {
  if (typeof value === 'string') return VALUE_WORK + value.length
  if (Array.isArray(value))
    return value.reduce<number>((sum, item) => sum + workOf(item, known), VALUE_WORK)
  if (!isMap(value)) return VALUE_WORK
  const keys = Object.keys(value)
  const isWide = keys.length > WIDE_MAP
  let work = VALUE_WORK
  for (const key of keys) {
    if (isWide || !known.has(key)) work += VALUE_WORK * KEY_FACTOR
    known.add(key)
    work += key.length + workOf(value[key], known)
  }
  return work
}

/**
 * What it costs to read, copy or compare a value: its characters, `VALUE_WORK` for each value in it, and more for each
 * different key.
 */
export const jsonWork = (value: unknown): number => workOf(value, new Set())

/** Freeze a value of maps and lists deeply. */
export const freeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) freeze(inner)
  }
  return value
}
