// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from './object.js'

/** Set a key as data, so that `__proto__` is a key like any other. */
export const setKey = (map: JsonMap, key: string, value: unknown): void => {
  Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true })
}

/** JSON merge patch, RFC 7386: maps merge, null deletes, everything else replaces. Changes neither argument. */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isMap(patch)) return patch
  const out: JsonMap = isMap(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(out, key)
    else setKey(out, key, mergePatch(Object.hasOwn(out, key) ? out[key] : undefined, value))
  }
  return out
}
