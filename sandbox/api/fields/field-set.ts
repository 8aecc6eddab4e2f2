// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../object.js'
import type { FieldRule, FieldRules } from './field-rules.js'

/** The way to a field, in the words of `fieldsV1`: `f:spec`, `k:{"port":80}`, `v:"x"`. */
export type FieldPath = readonly string[]

const SEPARATOR = '\0'

/** Some fields of an object. */
export type FieldSet = ReadonlySet<string>

export const textOf = (path: FieldPath): string => path.join(SEPARATOR)
export const pathOf = (text: string): FieldPath => text.split(SEPARATOR)

/** Whether `inner` is `outer` or lies inside. */
export const isWithin = (inner: string, outer: string): boolean =>
  inner === outer || inner.startsWith(outer + SEPARATOR)

/** A place in an object: how `fieldsV1` names it, and how rules do. */
interface Place {
  readonly path: FieldPath
  readonly rule: string
}

const below = (rule: string, key: string): string => (rule === '' ? key : `${rule}.${key}`)

const keyed = (map: JsonMap, { keys, defaults = {} }: Exclude<FieldRule, string>): JsonMap =>
  Object.fromEntries(keys.toSorted().map(key => [key, map[key] ?? defaults[key] ?? null]))

/** How `fieldsV1` names an item of a list whose items have identities. */
export const itemName = (item: unknown, rule: 'set' | Exclude<FieldRule, string>): string =>
  rule === 'set' || !isMap(item)
    ? `v:${JSON.stringify(item)}`
    : `k:${JSON.stringify(keyed(item, rule))}`

/** The rule of a list whose items have identities; undefined for a value that is owned as one. */
export const itemRule = (
  value: unknown,
  rule: FieldRule | undefined,
): 'set' | Exclude<FieldRule, string> | undefined =>
  Array.isArray(value) && rule !== undefined && rule !== 'atomic' ? rule : undefined

interface Walk {
  readonly rules: FieldRules
  readonly found: Map<string, unknown>
  /** Whether maps that hold something are fields, too. */
  readonly withMaps: boolean
}

const walk = (value: unknown, { path, rule }: Place, to: Walk): void => {
  const own = to.rules[rule]
  const items = itemRule(value, own)
  if (items !== undefined) {
    const list = value as readonly unknown[]
    if (list.length === 0) to.found.set(textOf(path), value)
    for (const item of list) {
      const at = { path: [...path, itemName(item, items)], rule: `${rule}[]` }
      to.found.set(textOf(at.path), isMap(item) ? undefined : item)
      if (isMap(item)) walk(item, at, to)
    }
    return
  }
  if (!isMap(value) || own === 'atomic') {
    to.found.set(textOf(path), value)
    return
  }
  const isEmpty = Object.keys(value).length === 0
  if (path.length > 0 && (isEmpty || to.withMaps)) to.found.set(textOf(path), undefined)
  for (const [key, inner] of Object.entries(value))
    walk(inner, { path: [...path, `f:${key}`], rule: below(rule, key) }, to)
}

/** What no writer owns: the server sets it, or it is the object's name. */
const SERVERS_OWN: ReadonlySet<string> = new Set([
  ...['f:apiVersion', 'f:kind', 'f:metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'deletionTimestamp',
    'generation',
    'managedFields',
    'resourceVersion',
    'selfLink',
    'uid',
  ].map(key => textOf(['f:metadata', `f:${key}`])),
])

const isServers = (text: string): boolean =>
  SERVERS_OWN.has(text) || isWithin(text, textOf(['f:metadata', 'f:managedFields']))

/**
 * The fields of an object, with their values; a map that is owned field by field has undefined.
 * @param withMaps also those maps that hold something, which are fields of whoever made them
 * @param without top-level fields that the request may not write
 */
export const fieldsOf = (
  object: JsonMap,
  rules: FieldRules,
  { withMaps, without }: { readonly withMaps: boolean; readonly without: readonly string[] },
): ReadonlyMap<string, unknown> => {
  const found = new Map<string, unknown>()
  walk(object, { path: [], rule: '' }, { rules, found, withMaps })
  for (const text of [...found.keys()])
    if (isServers(text) || without.some(key => isWithin(text, `f:${key}`))) found.delete(text)
  return found
}

/** As `managedFields` writes it. */
export const toFieldsV1 = (set: FieldSet): JsonMap => {
  const root: JsonMap = {}
  for (const text of [...set].sort()) {
    let at = root
    for (const step of pathOf(text)) {
      const next = at[step]
      at = isMap(next) ? next : (at[step] = {})
    }
    at['.'] = {}
  }
  const tidy = (map: JsonMap): JsonMap => {
    const keys = Object.keys(map)
    if (keys.length === 1 && keys[0] === '.') return {}
    return Object.fromEntries(keys.map(key => [key, key === '.' ? {} : tidy(map[key] as JsonMap)]))
  }
  return tidy(root)
}

/** Undoes `toFieldsV1`. */
export const fromFieldsV1 = (fields: unknown): FieldSet => {
  const set = new Set<string>()
  const read = (map: JsonMap, path: FieldPath): void => {
    if (path.length > 0 && (Object.keys(map).length === 0 || '.' in map)) set.add(textOf(path))
    for (const [key, inner] of Object.entries(map))
      if (key !== '.' && isMap(inner)) read(inner, [...path, key])
  }
  if (isMap(fields)) read(fields, [])
  return set
}

/** `.spec.ports[port=80,protocol="TCP"].name`: as a conflict names a field. */
export const shownPath = (text: string): string =>
  pathOf(text)
    .map(step => {
      const rest = step.slice(2)
      if (step.startsWith('f:')) return `.${rest}`
      if (step.startsWith('v:')) return `[=${rest}]`
      const keys = Object.entries(JSON.parse(rest) as JsonMap)
      return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`
    })
    .join('')
