// SPDX-License-Identifier: Apache-2.0
import { applyPatch, Pointer, type Operation } from 'rfc6902'
import { copyOf, isMap } from './object.js'
import { badRequest, Refusal, tooLarge } from './status.js'

/** As many as the real one takes. */
const MAX_OPERATIONS = 10_000

const OPS = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test'])

const isOperation = (value: unknown): value is Operation =>
  isMap(value) &&
  OPS.has(String(value['op'])) &&
  typeof value['path'] === 'string' &&
  (value['path'] === '' || value['path'].startsWith('/'))

/** The real one hides its patch library's words behind this message. */
const rejected = (): Refusal =>
  new Refusal(422, 'Invalid', 'the server rejected our request due to an error in our request', {
    details: {},
  })

/**
 * The real one is milder than the RFC about a missing key of a map: `replace` adds it, `test` takes it for null.
 * @returns the operation to carry out; undefined when there is none.
 */
const leniently = (holder: object, operation: Operation): Operation | undefined => {
  const { op, path } = operation
  if (op !== 'replace' && op !== 'test') return operation
  const { parent, value } = Pointer.fromJSON(path).evaluate(holder) as {
    parent: unknown
    value: unknown
  }
  if (!isMap(parent) || value !== undefined) return operation
  if (op === 'replace') return { ...operation, op: 'add' }
  return operation.value === null ? undefined : operation
}

/**
 * JSON patch, RFC 6902. Does not change `target`.
 * @throws Refusal 400 when the patch is no list of operations, 413 when it is too long, 422 when an operation fails:
 *   a `test` that does not hold, a path that leads nowhere.
 */
export const jsonPatch = (target: unknown, patch: unknown): unknown => {
  if (!Array.isArray(patch)) throw badRequest('a JSON patch must be a list of operations')
  if (patch.length > MAX_OPERATIONS)
    throw tooLarge(
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
    )
  if (!patch.every(isOperation)) throw rejected()
  // The library works in place, and tells of a failure by operation: nothing of a failed patch may stay.
  const holder = { root: copyOf(target) }
  const prefixed = patch.map(operation => ({
    ...operation,
    path: `/root${operation.path}`,
    ...('from' in operation ? { from: `/root${operation.from}` } : {}),
  }))
  for (const operation of prefixed) {
    const lenient = leniently(holder, operation)
    if (lenient !== undefined && applyPatch(holder, [lenient])[0] !== null) throw rejected()
  }
  return holder.root
}
