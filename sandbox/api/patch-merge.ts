// SPDX-License-Identifier: Apache-2.0
import { isMap, setKey, type JsonMap } from '../../core/json.js'

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
