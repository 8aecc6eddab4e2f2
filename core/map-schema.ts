// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { isMap, setKey, type JsonMap } from './json.js'
import { ruleOf } from './parse.js'

/**
 * A map of names that others chose, such as labels. Unlike `v.record` it keeps every name, also `constructor`, `prototype`
 * and `__proto__`.
 */
export const mapOf = <T>(
  value: v.GenericSchema<unknown, T>,
): v.GenericSchema<unknown, Record<string, T>> =>
  v.pipe(
    v.unknown(),
    v.check(isMap, 'must be an object'),
    v.rawTransform<unknown, Record<string, T>>(({ dataset, addIssue, NEVER }) => {
      const map: Record<string, T> = {}
      const input = dataset.value as JsonMap
      for (const [key, inner] of Object.entries(input)) {
        const result = v.safeParse(value, inner)
        if (!result.success) {
          const [issue] = result.issues
          const at = { type: 'object', origin: 'value', input, key } as const
          addIssue({
            message: ruleOf(issue),
            input: issue.input,
            path: [{ ...at, value: inner }, ...(issue.path ?? [])],
          })
          return NEVER
        }
        setKey(map, key, result.output)
      }
      return map
    }),
  )

/** Labels, annotations and the like. */
export const texts = mapOf(v.string())
