// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { InvalidInputError } from './errors.js'

/** The rule that an issue is about, in our words. */
export const ruleOf = (issue: v.BaseIssue<unknown>): string => {
  if (issue.kind !== 'schema') return issue.message
  const { key } = issue.path?.at(-1) ?? {}
  // A key that is missing: valibot expects its name.
  const isMissing = issue.input === undefined && issue.expected === JSON.stringify(key)
  return isMissing ? 'must be given' : `must be ${issue.expected ?? 'valid'}`
}

/**
 * Turn something from outside into a typed value, once, at the edge.
 * @param thing what it is, as the error names it: `ConfigMap edge-system/edge-health-config`.
 * @throws InvalidInputError with the path inside the thing, the rule and the value.
 */
export const parseWith = <S extends v.GenericSchema>(
  schema: S,
  thing: string,
  value: unknown,
): v.InferOutput<S> => {
  const result = v.safeParse(schema, value, { abortEarly: true })
  if (result.success) return result.output
  const issue = result.issues[0]
  const path = v.getDotPath(issue)
  throw new InvalidInputError(
    path === null ? thing : `${thing}: ${path}`,
    ruleOf(issue),
    issue.input,
  )
}

/**
 * Parse JSON text.
 * @throws InvalidInputError that names the thing; the text itself is not quoted beyond 80 characters.
 */
export const parseJson = (thing: string, text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new InvalidInputError(thing, 'must be JSON', text, { cause })
  }
}
