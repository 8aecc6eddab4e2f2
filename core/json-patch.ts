// SPDX-License-Identifier: Apache-2.0
import { isMap, sameJson, setKey } from './json.js'

/** One operation of RFC 6902. */
export interface PatchOperation {
  readonly op: string
  readonly path: string
  /** Of `move` and `copy`. */
  readonly from?: unknown
  /** Null where an operation names none. */
  readonly value: unknown
}

/** What became of a document; `at` is the place of the operation that failed. */
export type Patched =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly at: number; readonly trouble: string }

/** Ends a patch inside this file. */
class Failed extends Error {}

/** What the apiserver lets the copies of one patch add, in bytes: a few lines that copy what they copied would else fill memory. */
const MOST_COPIED = 3 * 1_048_576

/** In words; undefined for a bug. */
const troubleOf = (error: unknown): string | undefined => {
  if (error instanceof Failed) return error.message
  // Many moves can nest what each alone is shallow: the stack ended.
  return error instanceof RangeError ? 'the document becomes too deep' : undefined
}

/** What Go reads as a number: a sign and leading zeros may stand there. */
const INDEX = /^[+-]?\d+$/

const nowhere = (key: string): Failed => new Failed(`"${key}" leads nowhere`)

/** The keys of a JSON pointer, RFC 6901, none for the whole document. What stands before the first slash does not count. */
const keysOf = (pointer: unknown): string[] => {
  if (typeof pointer !== 'string') throw new Failed('a path is missing')
  const [before, ...keys] = pointer.split('/')
  if (before !== '' && keys.length === 0) throw new Failed('a path must begin with a slash')
  return keys.map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The place in a list that a key names, of `count` places; negative ones count from the end. */
const indexOf = (key: string, count: number): number => {
  const index = Number(key)
  if (!INDEX.test(key) || index >= count || index < -count) throw nowhere(key)
  return index < 0 ? index + count : index
}

/** What `key` names inside `parent`; undefined where a map has no such key. */
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

/** The apiserver adds what it shall replace, when a map lacks the key. */
const replace = (parent: unknown, key: string, value: unknown): void => {
  if (Array.isArray(parent)) parent[indexOf(key, parent.length)] = value
  else add(parent, key, value)
}

/** A document that operations change in place. */
class Draft {
  #root: unknown
  #copied = 0

  constructor(root: unknown) {
    this.#root = root
  }

  get root(): unknown {
    return this.#root
  }

  carryOut({ op, path, from, value }: PatchOperation): void {
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
        // The way to the new place is looked for when the value has left the old one.
        const moved = remove(...this.#place(from))
        add(...this.#place(path), moved)
        break
      }
      case 'copy':
        add(...this.#place(path), this.#copyOf(this.#valueAt(from) ?? null))
        break
      case 'test':
        // The apiserver takes a missing key for null.
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
    this.#copied += Buffer.byteLength(text)
    if (this.#copied > MOST_COPIED)
      throw new Failed(
        `copies would add ${this.#copied} bytes, and may add ${MOST_COPIED} in one patch`,
      )
    return JSON.parse(text)
  }

  #valueAt(pointer: unknown): unknown {
    return childOf(...this.#place(pointer))
  }

  /** Where a pointer leads: what holds the value, and by which key. The whole document has no such place. */
  #place(pointer: unknown): [parent: unknown, key: string] {
    const keys = keysOf(pointer)
    const last = keys.pop()
    if (last === undefined) throw new Failed('the whole document has no place')
    return [keys.reduce<unknown>(childOf, this.#root), last]
  }
}

/**
 * JSON patch, RFC 6902, as mild as the library of the apiserver: about a missing key of a map, a missing value, indices
 * from the end. Does not change `target`.
 */
export const applyJsonPatch = (target: unknown, operations: readonly PatchOperation[]): Patched => {
  const draft = new Draft(structuredClone(target))
  for (const [at, operation] of operations.entries()) {
    try {
      draft.carryOut(operation)
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble === undefined) throw error
      return { ok: false, at, trouble }
    }
  }
  return { ok: true, value: draft.root }
}
