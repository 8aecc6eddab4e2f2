// SPDX-License-Identifier: Apache-2.0
import { isMap, sameJson, setKey, type JsonMap } from '../../core/json.js'
import { Refusal } from '../../kube/server/status.js'

/**
 * Which lists merge, by dotted path without indices: `'status.conditions': 'type'` merges items of equal type;
 * the empty text merges scalars as a set. Lists that are not named here are atomic: a patch replaces them.
 */
export type ListKeys = Readonly<Record<string, string>>

const DIRECTIVE = '$patch'
const ORDER = '$setElementOrder/'
const DELETE_FROM = '$deleteFromPrimitiveList/'
const RETAIN = '$retainKeys'

/** The real one takes a patch that it cannot follow for its own failure. */
const broken = (message: string): Refusal => new Refusal(500, '', message)

const isDirectiveKey = (key: string): boolean =>
  key === DIRECTIVE || key === RETAIN || key.startsWith(ORDER) || key.startsWith(DELETE_FROM)

const below = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

const listAt = (map: JsonMap, key: string): readonly unknown[] => {
  const value = map[key]
  return Array.isArray(value) ? value : []
}

/** What a patch adds where nothing was: without its nulls and directives. */
const cleaned = (value: unknown): unknown => {
  if (Array.isArray(value))
    return value.filter(item => !(isMap(item) && item[DIRECTIVE] === 'delete')).map(cleaned)
  if (!isMap(value)) return value
  const out: JsonMap = {}
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== null && !isDirectiveKey(key)) setKey(out, key, cleaned(inner))
  }
  return out
}

/** The place of an item in a list, by merge key or, for scalars, by value; −1 when it is not there. */
const placeOf = (list: readonly unknown[], item: unknown, mergeKey: string): number => {
  if (mergeKey === '' || !isMap(item)) return list.indexOf(item)
  return list.findIndex(other => isMap(other) && sameJson(other[mergeKey], item[mergeKey]))
}

/**
 * The real one's order: the items that the patch names stand in the patch's order; the others keep the order that
 * they had, each in front of the first named item that it preceded.
 */
const interleave = (
  merged: readonly unknown[],
  wanted: readonly unknown[],
  before: readonly unknown[],
  mergeKey: string,
): unknown[] => {
  const named = merged
    .filter(item => placeOf(wanted, item, mergeKey) >= 0)
    .sort((a, b) => placeOf(wanted, a, mergeKey) - placeOf(wanted, b, mergeKey))
  const others = merged.filter(item => placeOf(wanted, item, mergeKey) < 0)
  const out: unknown[] = []
  for (const item of named) {
    const own = placeOf(before, item, mergeKey)
    while (others.length > 0 && own >= 0 && placeOf(before, others[0], mergeKey) < own)
      out.push(others.shift())
    out.push(item)
  }
  return [...out, ...others]
}

const mergeScalars = (
  target: readonly unknown[],
  patch: readonly unknown[],
  wanted: readonly unknown[],
): unknown[] => interleave([...new Set([...target, ...patch])], wanted, target, '')

class Merger {
  readonly #keys: ListKeys
  constructor(keys: ListKeys) {
    this.#keys = keys
  }

  map(target: JsonMap, patch: JsonMap, path: string): JsonMap {
    const directive = patch[DIRECTIVE]
    if (directive === 'replace') return cleaned(patch) as JsonMap
    if (directive === 'delete') return {}
    if (directive !== undefined && directive !== 'merge')
      throw broken(`Unknown patch type ${JSON.stringify(directive)} found in the patch`)
    const out: JsonMap = { ...target }
    const retained = patch[RETAIN]
    if (Array.isArray(retained))
      for (const key of Object.keys(out))
        if (!retained.includes(key)) Reflect.deleteProperty(out, key)
    this.#removeScalars(out, patch)
    for (const [key, value] of Object.entries(patch)) {
      if (!isDirectiveKey(key)) this.#field(out, patch, key, { value, path: below(path, key) })
    }
    return out
  }

  #removeScalars(out: JsonMap, patch: JsonMap): void {
    for (const [directive, values] of Object.entries(patch)) {
      const key = directive.slice(DELETE_FROM.length)
      if (!directive.startsWith(DELETE_FROM) || !Array.isArray(values) || !(key in out)) continue
      out[key] = listAt(out, key).filter(item => !values.includes(item))
    }
  }

  #field(
    out: JsonMap,
    patch: JsonMap,
    key: string,
    { value, path }: { value: unknown; path: string },
  ): void {
    const old = Object.hasOwn(out, key) ? out[key] : undefined
    if (value === null) Reflect.deleteProperty(out, key)
    else if (Array.isArray(value) && Array.isArray(old) && Object.hasOwn(this.#keys, path))
      setKey(out, key, this.#list(old, value, path, patch[ORDER + key]))
    else if (isMap(value) && isMap(old)) setKey(out, key, this.map(old, value, path))
    else setKey(out, key, cleaned(value))
  }

  #list(
    target: readonly unknown[],
    patch: readonly unknown[],
    path: string,
    order: unknown,
  ): unknown[] {
    const mergeKey = this.#keys[path]!
    const wanted = Array.isArray(order) ? order : patch
    if (mergeKey === '') return mergeScalars(target, patch, wanted)
    if (patch.some(item => isMap(item) && item[DIRECTIVE] === 'replace'))
      return patch
        .filter(item => !(isMap(item) && DIRECTIVE in item && !(mergeKey in item)))
        .map(cleaned)
    const merged = [...target]
    for (const item of patch) this.#item(merged, item, mergeKey, path)
    return interleave(merged, wanted, target, mergeKey)
  }

  #item(merged: unknown[], item: unknown, mergeKey: string, path: string): void {
    if (!isMap(item) || item[mergeKey] === undefined)
      throw broken(`map: ${JSON.stringify(item)} does not contain declared merge key: ${mergeKey}`)
    const place = placeOf(merged, item, mergeKey)
    if (item[DIRECTIVE] === 'delete') {
      if (place >= 0) merged.splice(place, 1)
      return
    }
    const old = merged[place]
    if (isMap(old)) merged[place] = this.map(old, item, path)
    else merged.push(cleaned(item))
  }
}

/**
 * Strategic merge patch with the real one's list rules. Changes neither argument.
 * @throws Refusal 500 for an unknown directive or a list item without its merge key.
 */
export const strategicPatch = (target: JsonMap, patch: JsonMap, keys: ListKeys): JsonMap =>
  new Merger(keys).map(target, patch, '')
