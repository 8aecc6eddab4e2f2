// SPDX-License-Identifier: Apache-2.0
import { isMap, jsonBytes, sameJson, setKey } from './json.js'

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
  /** What its operations cost: bytes of JSON that were added, copied or compared, and items of lists that moved up. */
  readonly work: number
}

/** Aborts a patch; never leaves this file. */
class Failed extends Error {}

/** As in the apiserver: how many bytes the copies of one patch may add. A few operations that copy copies could fill memory. */
const MOST_COPIED = 3 * 1_048_576

/** How much work one patch may be. Thousands of short operations on a long list could take minutes. */
const MOST_WORK = 64 * 1_048_576

/** In words; undefined when the error is a bug. */
const troubleOf = (error: unknown): string | undefined => {
  if (error instanceof Failed) return error.message
  // Many moves can nest a document so deeply that the stack overflows.
  return error instanceof RangeError ? 'the document becomes too deep' : undefined
}

/** What Go accepts as an index: a sign and leading zeros are allowed. */
const INDEX = /^[+-]?\d+$/

const nowhere = (key: string): Failed => new Failed(`"${key}" leads nowhere`)

/** The keys of a JSON pointer (RFC 6901); none for the whole document. What is before the first slash is ignored. */
const keysOf = (pointer: unknown): string[] => {
  if (typeof pointer !== 'string') throw new Failed('a path is missing')
  const [before, ...keys] = pointer.split('/')
  if (before !== '' && keys.length === 0) throw new Failed('a path must begin with a slash')
  return keys.map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))
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
  #root: unknown
  #copied = 0
  #work = 0

  constructor(root: unknown) {
    this.#root = root
  }

  get root(): unknown {
    return this.#root
  }

  get work(): number {
    return this.#work
  }

  carryOut({ op, path, from, value }: PatchOperation): void {
    this.#count(jsonBytes(value))
    switch (op) {
      case 'add':
        add(...this.#place(path), structuredClone(value))
        break
      case 'remove':
        remove(...this.#place(path))
        break
      case 'replace':
        this.#replace(path, structuredClone(value))
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
        // The apiserver treats a missing key as null.
        if (!sameJson((path === '' ? this.#root : this.#valueAt(path)) ?? null, value))
          throw new Failed('the value is another one')
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

  #copyOf(value: unknown): unknown {
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
    if (this.#work > MOST_WORK) throw new Failed('the patch is too much work')
  }

  /** Where a pointer leads: the parent of the value, and its key there. The whole document has no parent. */
  #place(pointer: unknown): [parent: unknown, key: string] {
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
export const applyJsonPatch = (target: unknown, operations: readonly PatchOperation[]): Patched => {
  const draft = new Draft(structuredClone(target))
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
