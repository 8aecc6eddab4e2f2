// SPDX-License-Identifier: Apache-2.0
import { isMap, setKey, type JsonMap } from '../../../core/json.js'
import type { FieldRules } from './field-rules.js'
import { isWithin, itemName, itemRule, textOf, type FieldPath } from './field-set.js'

const below = (rule: string, key: string): string => (rule === '' ? key : `${rule}.${key}`)

/** The applied items in their order; each other item keeps its place behind the one that it followed. */
const mergeItems = (
  live: readonly unknown[],
  applied: readonly unknown[],
  nameOf: (item: unknown) => string,
  merge: (live: unknown, applied: unknown) => unknown,
): unknown[] => {
  const known = new Map(live.map(item => [nameOf(item), item]))
  const out = applied.map(item => merge(known.get(nameOf(item)), item))
  const names = new Set(applied.map(nameOf))
  for (const [at, item] of live.entries()) {
    if (names.has(nameOf(item))) continue
    const before = at === 0 ? undefined : nameOf(live[at - 1])
    const place = out.findIndex(other => nameOf(other) === before)
    out.splice(place + 1, 0, item)
  }
  return out
}

/** What an object becomes when a configuration is applied over it; changes neither. */
export const mergeApplied = (
  live: unknown,
  applied: unknown,
  rules: FieldRules,
  rule = '',
): unknown => {
  const own = rules[rule]
  const items = itemRule(applied, own)
  if (items !== undefined && Array.isArray(live))
    return mergeItems(
      live,
      applied as readonly unknown[],
      item => itemName(item, items),
      (before, item) => mergeApplied(before, item, rules, `${rule}[]`),
    )
  if (!isMap(applied) || !isMap(live) || own === 'atomic') return applied
  const out: JsonMap = { ...live }
  for (const [key, value] of Object.entries(applied)) {
    const before = Object.hasOwn(live, key) ? live[key] : undefined
    setKey(out, key, mergeApplied(before, value, rules, below(rule, key)))
  }
  return out
}

interface Prune {
  readonly rules: FieldRules
  readonly gone: ReadonlySet<string>
}

const isEmpty = (value: unknown): boolean =>
  (isMap(value) && Object.keys(value).length === 0) || (Array.isArray(value) && value.length === 0)

const prune = (value: unknown, path: FieldPath, rule: string, by: Prune): unknown => {
  const own = by.rules[rule]
  const touches = (at: FieldPath): boolean => [...by.gone].some(text => isWithin(text, textOf(at)))
  const isGone = (at: FieldPath): boolean => by.gone.has(textOf(at))
  const items = itemRule(value, own)
  if (items !== undefined)
    return (value as readonly unknown[]).flatMap(item => {
      const at = [...path, itemName(item, items)]
      if (isGone(at)) return []
      return [touches(at) ? prune(item, at, `${rule}[]`, by) : item]
    })
  if (!isMap(value) || own === 'atomic') return value
  const out: JsonMap = {}
  for (const [key, inner] of Object.entries(value)) {
    const at = [...path, `f:${key}`]
    if (isGone(at)) continue
    const left = touches(at) ? prune(inner, at, below(rule, key), by) : inner
    // A map that has lost its last field goes with it.
    if (left === inner || !isEmpty(left)) setKey(out, key, left)
  }
  return out
}

/** The object without some of its fields. Changes nothing. */
export const withoutFields = (
  object: JsonMap,
  gone: ReadonlySet<string>,
  rules: FieldRules,
): JsonMap => (gone.size === 0 ? object : (prune(object, [], '', { rules, gone }) as JsonMap))
