// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { isMap, setKey, type JsonMap } from '../../core/json.js'

/** Deeper than any object of the API is nested; YAML can contain cycles. */
export const MAX_DEPTH = 64

/** Whether a value has more levels than any object of the API. */
export const isTooDeep = (value: unknown, depth = 0): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (depth > MAX_DEPTH || Object.values(value).some(inner => isTooDeep(inner, depth + 1)))

/**
 * A copy without null members, which the API treats as missing.
 * @throws InvalidInputError when it is nested deeper than 64 levels
 */
export const withoutNulls = (thing: string, value: unknown, depth = 0): unknown => {
  if (depth > MAX_DEPTH)
    throw new InvalidInputError(thing, `must be at most ${MAX_DEPTH} levels deep`, 'more')
  if (Array.isArray(value)) return value.map(item => withoutNulls(thing, item, depth + 1))
  if (!isMap(value)) return value
  const copy: JsonMap = {}
  for (const [key, inner] of Object.entries(value))
    if (inner !== null) setKey(copy, key, withoutNulls(thing, inner, depth + 1))
  return copy
}
