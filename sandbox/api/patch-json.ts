// SPDX-License-Identifier: Apache-2.0
import { copyOf, isMap, sameJson } from './object.js'
import { badRequest, Refusal, tooLarge } from '../../kube/status.js'

/** As many as the real one takes. */
const MAX_OPERATIONS = 10_000

const INDEX = /^(?:0|[1-9]\d*)$/

interface Operation {
  op: string
  path: string
  from?: unknown
  value?: unknown
}

/** The real one hides its patch library's words behind this message. */
const rejected = (): Refusal =>
  new Refusal(422, 'Invalid', 'the server rejected our request due to an error in our request', {
    details: {},
  })

/** The keys of a JSON pointer, RFC 6901. */
const keysOf = (pointer: unknown): string[] => {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/'))) throw rejected()
  return pointer
    .split('/')
    .slice(1)
    .map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The item of a list that a key names; `end` is the first index that is too large. */
const indexOf = (key: string, end: number): number => {
  if (!INDEX.test(key) || Number(key) >= end) throw rejected()
  return Number(key)
}

/** What `key` names inside `parent`; undefined where a map has no such key. */
const childOf = (parent: unknown, key: string): unknown => {
  if (Array.isArray(parent)) return parent[indexOf(key, parent.length)]
  if (!isMap(parent)) throw rejected()
  return Object.hasOwn(parent, key) ? parent[key] : undefined
}

/** A plain assignment to `__proto__` would not make a key. */
const setKey = (map: object, key: string, value: unknown): void => {
  Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true })
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
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else Reflect.deleteProperty(parent as object, key)
  return value
}

/** The real one adds what it shall replace, when a map lacks the key. */
const replace = (parent: unknown, key: string, value: unknown): void => {
  if (Array.isArray(parent)) parent[indexOf(key, parent.length)] = value
  else add(parent, key, value)
}

/** A document that operations change in place; its root can be replaced like any other value. */
class Draft {
  readonly #holder: { root: unknown }

  constructor(root: unknown) {
    this.#holder = { root }
  }

  get root(): unknown {
    return this.#holder.root
  }

  carryOut({ op, path, from, value }: Operation): void {
    const [parent, key] = this.#place(path)
    switch (op) {
      case 'add':
        add(parent, key, valueOf(value))
        break
      case 'remove':
        remove(parent, key)
        break
      case 'replace':
        replace(parent, key, valueOf(value))
        break
      case 'move':
        this.#move(from, path)
        break
      case 'copy':
        add(parent, key, valueOf(childOf(...this.#place(from))))
        break
      case 'test':
        // The real one takes a missing key for null.
        if (!sameJson(childOf(parent, key) ?? null, valueOf(value))) throw rejected()
        break
      default:
        throw rejected()
    }
  }

  #move(from: unknown, path: string): void {
    // Into itself it cannot go.
    if (path.startsWith(`${String(from)}/`)) throw rejected()
    const value = remove(...this.#place(from))
    add(...this.#place(path), value)
  }

  /** Where a pointer leads: what holds the value, and by which key. */
  #place(pointer: unknown): [parent: unknown, key: string] {
    let parent: unknown = this.#holder
    let key = 'root'
    for (const next of keysOf(pointer)) {
      parent = childOf(parent, key)
      key = next
    }
    return [parent, key]
  }
}

/** A copy of the value that an operation needs. */
const valueOf = (value: unknown): unknown => {
  if (value === undefined) throw rejected()
  return copyOf(value)
}

const isOperation = (value: unknown): value is Operation =>
  isMap(value) && typeof value['op'] === 'string' && typeof value['path'] === 'string'

/**
 * JSON patch, RFC 6902, as mild about a missing key of a map as the real one. Does not change `target`.
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
  const draft = new Draft(copyOf(target))
  for (const operation of patch) draft.carryOut(operation)
  return draft.root
}
