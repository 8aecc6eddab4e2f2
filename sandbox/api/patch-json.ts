// SPDX-License-Identifier: Apache-2.0
import { copyOf, isMap, type JsonMap, sameJson } from './object.js'
import { setKey } from './patch-merge.js'
import { badRequest, Refusal, tooLarge } from '../../kube/server/status.js'

/** As many as the real one takes. */
const MAX_OPERATIONS = 10_000

/** What Go reads as a number: a sign and leading zeros may stand there. */
const INDEX = /^[+-]?\d+$/

interface Operation {
  readonly op: string
  readonly path: string
  readonly from: unknown
  /** Null where an operation names none, as in the real one. */
  readonly value: unknown
}

/** The real one hides its patch library's words behind this message. */
const rejected = (): Refusal =>
  new Refusal(422, 'Invalid', 'the server rejected our request due to an error in our request', {
    details: {},
  })

/**
 * The keys of a JSON pointer, RFC 6901, none for the whole document. As in the real one it need not begin with a slash:
 * what stands before the first one does not count.
 */
const keysOf = (pointer: unknown): string[] => {
  if (typeof pointer !== 'string') throw rejected()
  const [before, ...keys] = pointer.split('/')
  if (before !== '' && keys.length === 0) throw rejected()
  return keys.map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The place in a list that a key names, of `count` places; negative ones count from the end. */
const indexOf = (key: string, count: number): number => {
  const index = Number(key)
  if (!INDEX.test(key) || index >= count || index < -count) throw rejected()
  return index < 0 ? index + count : index
}

/** What `key` names inside `parent`; undefined where a map has no such key. */
const childOf = (parent: unknown, key: string): unknown => {
  if (Array.isArray(parent)) return parent[indexOf(key, parent.length)]
  if (!isMap(parent)) throw rejected()
  return Object.hasOwn(parent, key) ? parent[key] : undefined
}

const add = (parent: unknown, key: string, value: unknown): void => {
  if (Array.isArray(parent))
    parent.splice(key === '-' ? parent.length : indexOf(key, parent.length + 1), 0, value)
  else if (isMap(parent)) setKey(parent, key, value)
  else throw rejected()
}

const remove = (parent: unknown, key: string): unknown => {
  const value = childOf(parent, key)
  if (value === undefined) throw rejected()
  if (Array.isArray(parent)) parent.splice(indexOf(key, parent.length), 1)
  else Reflect.deleteProperty(parent as object, key)
  return value
}

/** The real one adds what it shall replace, when a map lacks the key. */
const replace = (parent: unknown, key: string, value: unknown): void => {
  if (Array.isArray(parent)) parent[indexOf(key, parent.length)] = value
  else add(parent, key, value)
}

/** A document that operations change in place. */
class Draft {
  #root: unknown

  constructor(root: unknown) {
    this.#root = root
  }

  get root(): unknown {
    return this.#root
  }

  carryOut({ op, path, from, value }: Operation): void {
    switch (op) {
      case 'add':
        add(...this.#place(path), copyOf(value))
        break
      case 'remove':
        remove(...this.#place(path))
        break
      case 'replace':
        this.#replace(path, copyOf(value))
        break
      case 'move': {
        // The way to the new place is looked for when the value has left the old one.
        const moved = remove(...this.#place(from))
        add(...this.#place(path), moved)
        break
      }
      case 'copy':
        add(...this.#place(path), copyOf(this.#valueAt(from) ?? null))
        break
      case 'test':
        // The real one takes a missing key for null.
        if (!sameJson((path === '' ? this.#root : this.#valueAt(path)) ?? null, value))
          throw rejected()
        break
      default:
        throw rejected()
    }
  }

  #replace(path: string, value: unknown): void {
    if (path !== '') {
      replace(...this.#place(path), value)
      return
    }
    if (!isMap(value) && !Array.isArray(value)) throw rejected()
    this.#root = value
  }

  #valueAt(pointer: unknown): unknown {
    return childOf(...this.#place(pointer))
  }

  /** Where a pointer leads: what holds the value, and by which key. The whole document has no such place. */
  #place(pointer: unknown): [parent: unknown, key: string] {
    const keys = keysOf(pointer)
    const last = keys.pop()
    if (last === undefined) throw rejected()
    return [keys.reduce<unknown>(childOf, this.#root), last]
  }
}

const isTextOrNothing = (value: unknown): boolean =>
  value === undefined || value === null || typeof value === 'string'

/** @throws Refusal 400 for what is no operation at all, 422 for one that lacks its path. */
const readOperation = (given: unknown): Operation => {
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
  const draft = new Draft(copyOf(target))
  for (const operation of operations) draft.carryOut(operation)
  return draft.root
}
