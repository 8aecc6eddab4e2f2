// SPDX-License-Identifier: Apache-2.0
import { copyJson, isMap, jsonWork, sameJson, setKey, VALUE_WORK } from './json.js'

/** One operation of RFC 6902. */
export interface PatchOperation {
  readonly op: string
  readonly path: string
  /** Of `move` and `copy`. */
  readonly from?: unknown
  /** Null where the operation has none. */
  readonly value: unknown
}

/** The outcome of a patch; `at` is the index of the operation that failed. */
export type Patched = (
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly at: number; readonly trouble: string }
) & {
  /**
   * What its operations cost: a constant for each, their paths, the values that were added, copied or compared (`jsonWork`),
   * and items of lists that moved up.
   */
  readonly work: number
}

export interface PatchOptions {
  /** Makes what is written from an operation's value; a deep copy by default. Called when the operation's turn comes. */
  readonly copy?: (value: unknown) => unknown
  /** The patch fails when its work becomes more, or more than one patch may be. */
  readonly mostWork?: number
}

/** Aborts a patch; never leaves this file. */
class Failed extends Error {}

/** As in the apiserver: how many bytes the copies of one patch may add. A few operations that copy copies could fill memory. */
const MOST_COPIED = 3 * 1_048_576

/** How much work one patch may be: about a second. Thousands of short operations on a long list could take minutes. */
const MOST_WORK = 256 * 1_048_576

/** What an operation costs beside its paths and values. */
const OPERATION_WORK = 8 * VALUE_WORK

/** In words; undefined when the error is a bug. */
const troubleOf = (error: unknown): string | undefined => {
  if (error instanceof Failed) return error.message
  // Many moves can nest a document so deeply that the stack overflows.
  return error instanceof RangeError ? 'the document becomes too deep' : undefined
}

/** What Go accepts as an index: a sign and leading zeros are allowed. */
const INDEX = /^[+-]?\d+$/

const nowhere = (key: string): Failed => new Failed(`"${key}" leads nowhere`)

const unescaped = (key: string): string =>
  key.includes('~') ? key.replaceAll('~1', '/').replaceAll('~0', '~') : key

/** The keys of a JSON pointer (RFC 6901); none for the whole document. What is before the first slash is ignored. */
const keysOf = (pointer: string): string[] => {
  const [before, ...keys] = pointer.split('/')
  if (before !== '' && keys.length === 0) throw new Failed('a path must begin with a slash')
  return keys.map(unescaped)
}

/** The index that a key names in a list of this length; negative ones count from the end. */
const indexOf = (key: string, count: number): number => {
  const index = Number(key)
  if (!INDEX.test(key) || index >= count || index < -count) throw nowhere(key)
  return index < 0 ? index + count : index
}

/** The value of `key` in `parent`; undefined where a map has no such key. */
const childOf = (parent: unknown, key: string): unknown => {
  if (Array.isArray(parent)) return parent[indexOf(key, parent.length)]
  if (!isMap(parent)) throw nowhere(key)
  return Object.hasOwn(parent, key) ? parent[key] : undefined
}

const add = (parent: unknown, key: string, value: unknown): void => {
  if (Array.isArray(parent))
    parent.splice(key === '-' ? parent.length : indexOf(key, parent.length + 1), 0, value)
  else if (isMap(parent)) setKey(parent, key, value)
  else throw nowhere(key)
}

const remove = (parent: unknown, key: string): unknown => {
  const value = childOf(parent, key)
  if (value === undefined) throw nowhere(key)
  if (Array.isArray(parent)) parent.splice(indexOf(key, parent.length), 1)
  else Reflect.deleteProperty(parent as object, key)
  return value
}

/** When a map lacks the key to be replaced, the apiserver adds it. */
const replace = (parent: unknown, key: string, value: unknown): void => {
  if (Array.isArray(parent)) parent[indexOf(key, parent.length)] = value
  else add(parent, key, value)
}

/** A document that operations change in place. */
class Draft {
  readonly #copy: (value: unknown) => unknown
  readonly #mostWork: number
  #root: unknown
  #copied = 0
  #work = 0

  constructor(root: unknown, { copy = structuredClone, mostWork = MOST_WORK }: PatchOptions) {
    this.#root = root
    this.#copy = copy
    this.#mostWork = Math.min(mostWork, MOST_WORK)
  }

  get root(): unknown {
    return this.#root
  }

  get work(): number {
    return this.#work
  }

  carryOut({ op, path, from, value: given }: PatchOperation): void {
    this.#count(OPERATION_WORK + jsonWork(given))
    switch (op) {
      case 'add':
        add(...this.#place(path), this.#copy(given))
        break
      case 'remove':
        remove(...this.#place(path))
        break
      case 'replace':
        this.#replace(path, this.#copy(given))
        break
      case 'move': {
        // The target path is resolved after the value has been removed from its old place.
        const moved = remove(...this.#place(from))
        add(...this.#place(path), moved)
        break
      }
      case 'copy':
        add(...this.#place(path), this.#copyOf(this.#valueAt(from) ?? null))
        break
      case 'test':
        this.#test(path, given)
        break
      default:
        throw new Failed('there is no such operation')
    }
  }

  #replace(path: string, value: unknown): void {
    if (path !== '') {
      replace(...this.#place(path), value)
      return
    }
    if (!isMap(value) && !Array.isArray(value))
      throw new Failed('a document must be a map or a list')
    this.#root = value
  }

  #test(path: string, given: unknown): void {
    // The apiserver treats a missing key as null.
    const found = (path === '' ? this.#root : this.#valueAt(path)) ?? null
    this.#count(jsonWork(found))
    if (!sameJson(found, this.#copy(given))) throw new Failed('the value is another one')
  }

  #copyOf(value: unknown): unknown {
    this.#count(jsonWork(value))
    const text = JSON.stringify(value)
    const bytes = Buffer.byteLength(text)
    this.#count(bytes)
    this.#copied += bytes
    if (this.#copied > MOST_COPIED)
      throw new Failed(
        `copies would add ${this.#copied} bytes, and may add ${MOST_COPIED} in one patch`,
      )
    return JSON.parse(text)
  }

  #valueAt(pointer: unknown): unknown {
    return childOf(...this.#place(pointer))
  }

  #count(work: number): void {
    this.#work += work
    if (this.#work > this.#mostWork) throw new Failed('the patch is too much work')
  }

  /** Where a pointer leads: the parent of the value, and its key there. The whole document has no parent. */
  #place(pointer: unknown): [parent: unknown, key: string] {
    if (typeof pointer !== 'string') throw new Failed('a path is missing')
    const dear = pointer.split('/').length + pointer.split('~').length
    this.#count(pointer.length + VALUE_WORK * dear)
    const keys = keysOf(pointer)
    const last = keys.pop()
    if (last === undefined) throw new Failed('the whole document has no place')
    const parent = keys.reduce<unknown>(childOf, this.#root)
    if (Array.isArray(parent)) this.#count(parent.length)
    return [parent, last]
  }
}

/**
 * JSON patch (RFC 6902), as lenient as the apiserver's library about missing keys of maps, missing values and negative
 * indices. Does not change `target`.
 */
export const applyJsonPatch = (
  target: unknown,
  operations: readonly PatchOperation[],
  options: PatchOptions = {},
): Patched => {
  const draft = new Draft(copyJson(target), options)
  for (const [at, operation] of operations.entries()) {
    try {
      draft.carryOut(operation)
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble === undefined) throw error
      return { ok: false, at, trouble, work: draft.work }
    }
  }
  return { ok: true, value: draft.root, work: draft.work }
}
