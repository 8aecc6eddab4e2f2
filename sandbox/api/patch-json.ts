// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../core/json.js'
import { applyJsonPatch, type PatchOperation } from '../../core/json-patch.js'
import { badRequest, Refusal, tooLarge } from '../../kube/server/status.js'

/** As many as the real one takes. */
const MAX_OPERATIONS = 10_000

/** The real one hides its patch library's words behind this message. */
const rejected = (): Refusal =>
  new Refusal(422, 'Invalid', 'the server rejected our request due to an error in our request', {
    details: {},
  })

const isTextOrNothing = (value: unknown): boolean =>
  value === undefined || value === null || typeof value === 'string'

/** @throws Refusal 400 for what is no operation at all, 422 for one that lacks its path. */
const readOperation = (given: unknown): PatchOperation => {
  const { op, path, from, value = null } = given === null ? {} : (given as JsonMap)
  if (!isMap(given ?? {}) || ![op, path, from].every(isTextOrNothing))
    throw badRequest('error decoding patch: op, path and from of an operation must be texts')
  if (typeof op !== 'string' || typeof path !== 'string') throw rejected()
  return { op, path, from, value }
}

/**
 * JSON patch, RFC 6902, as mild as the library of the real one: about a missing key of a map, a missing value, indices
 * from the end. Does not change `target`.
 * @throws Refusal 400 when the patch is no list of operations, 413 when it is too long, 422 when an operation fails:
 *   a `test` that does not hold, a path that leads nowhere.
 */
export const jsonPatch = (target: unknown, patch: unknown): unknown => {
  const list = patch ?? []
  if (!Array.isArray(list)) throw badRequest('a JSON patch must be a list of operations')
  const operations = list.map(readOperation)
  if (operations.length > MAX_OPERATIONS)
    throw tooLarge(
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${operations.length}`,
    )
  const patched = applyJsonPatch(target, operations)
  if (!patched.ok) throw rejected()
  return patched.value
}
