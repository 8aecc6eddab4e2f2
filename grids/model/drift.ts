// SPDX-License-Identifier: Apache-2.0
import { isMap, sameJson } from '../../core/json.js'
import type { Json } from './grid.js'
import type { LiveChild } from './live.js'
import { amountOf } from './quantity.js'
import { MANAGER } from './words.js'

/** Why a child must be applied. */
export type DriftCause =
  /** We have never applied it: it is SuperEdge's, or was handed over. */
  | 'never-applied'
  /** We want a field that is not ours: it is new, or somebody else has set it. */
  | 'not-ours'
  /** We own a field that we do not want any more. */
  | 'not-wanted'
  /** We own a field whose value is another one. */
  | 'changed'

export interface Drift {
  readonly cause: DriftCause
  /** Where it was first seen: `spec.template.spec.containers[name=web].image`. */
  readonly path: string
}

/** Nobody owns the fields that identify an object. */
const isIdentity = (path: string, key: string): boolean =>
  (path === '' && (key === 'apiVersion' || key === 'kind')) ||
  (path === 'metadata' && (key === 'name' || key === 'namespace'))

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

/** Fields that the apiserver writes in a form of its own: 1000m is 1. */
const QUANTITIES = /(^|\.)(limits|requests|sizeLimit|divisor)(\.|$)/

const hasKeys = (map: Json): boolean => Object.keys(map).length > 0

/** What the apiserver leaves out of an object, as Go does with an empty field. */
const isEmpty = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length === 0
    : isMap(value)
      ? !hasKeys(value)
      : value === '' || value === 0 || value === false

/** What the apiserver adds inside values that are owned whole: to field references, projected tokens, claim templates. */
const DEFAULTED: ReadonlySet<string> = new Set([
  ...['apiVersion', 'kind', 'creationTimestamp', 'status', 'divisor', 'expirationSeconds'],
  ...['defaultMode', 'volumeMode'],
])

/** Maps of texts: an entry that is not wanted is a difference, even where none is wanted. */
const OF_TEXTS = /(^|\.)(selector|nodeSelector|matchLabels)$/

const mapSays = (live: Json, wanted: Json, path: string): boolean =>
  // An empty map asks for the apiserver's defaults.
  (!hasKeys(wanted) && !OF_TEXTS.test(path)) ||
  (Object.entries(wanted).every(([key, inner]) => says(live[key], inner, join(path, key))) &&
    Object.keys(live).every(key => Object.hasOwn(wanted, key) || DEFAULTED.has(key)))

/**
 * Does a live value say what is wanted, and no more? Where a default is not known here it counts as a difference, which costs
 * a request that writes nothing; the opposite error would lose a change.
 */
const says = (live: unknown, wanted: unknown, path: string): boolean => {
  if (live === undefined) return isEmpty(wanted)
  if (Array.isArray(wanted))
    return (
      Array.isArray(live) &&
      live.length === wanted.length &&
      wanted.every((item, at) => says(live[at], item, path))
    )
  if (isMap(wanted)) return isMap(live) && mapSays(live, wanted, path)
  if (live === wanted) return true
  const amount = QUANTITIES.test(path) ? amountOf(wanted) : undefined
  return amount !== undefined && amount === amountOf(live)
}

/** The only key of a list of maps that may be left to the apiserver. */
const DEFAULTS: Readonly<Record<string, unknown>> = { protocol: 'TCP' }

/** Finds the item of a list that an entry of managedFields is about: `k:{"name":"web"}` by its keys, `v:"x"` by its value. */
const finderOf = (entry: string): ((item: unknown) => boolean) | undefined => {
  const kind = entry.slice(0, 2)
  if (kind !== 'k:' && kind !== 'v:') return undefined
  const value = JSON.parse(entry.slice(2)) as unknown
  if (kind === 'v:') return item => sameJson(item, value)
  const keys = Object.entries(value as Json)
  return item =>
    isMap(item) && keys.every(([key, wanted]) => sameJson(item[key] ?? DEFAULTS[key], wanted))
}

const keyText = (entry: string): string =>
  `[${entry.slice(2).replaceAll(/[{}"]/g, '').replaceAll(':', '=')}]`

interface Place {
  readonly fields: unknown
  readonly wanted: unknown
  readonly live: unknown
  readonly path: string
}

const itemsDrift = (
  fields: Json,
  wanted: readonly unknown[],
  { live, path }: Place,
): Drift | undefined => {
  const items = Array.isArray(live) ? (live as readonly unknown[]) : []
  const owned = new Set<unknown>()
  for (const [entry, inner] of Object.entries(fields)) {
    if (entry === '.') continue
    const finds = finderOf(entry)
    const item = finds && wanted.find(finds)
    if (finds === undefined || item === undefined)
      return { cause: 'not-wanted', path: `${path}${keyText(entry)}` }
    owned.add(item)
    const found = driftAt({
      fields: inner,
      wanted: item,
      live: items.find(finds),
      path: `${path}${keyText(entry)}`,
    })
    if (found !== undefined) return found
  }
  const stray = wanted.findIndex(item => !owned.has(item))
  return stray === -1 ? undefined : { cause: 'not-ours', path: `${path}[${stray}]` }
}

/** The first field that is wanted and not ours. An empty value owns nothing: it must only be there. */
const strayDrift = (
  fields: Json,
  wanted: Json,
  { path, values }: { readonly path: string; readonly values: Json },
): Drift | undefined => {
  for (const [key, inner] of Object.entries(wanted)) {
    if (Object.hasOwn(fields, `f:${key}`) || isIdentity(path, key)) continue
    const value = values[key]
    // An empty list is nothing to own; an empty map must at least be there.
    const isThere = Array.isArray(inner)
      ? inner.length === 0 && says(value, inner, path)
      : isMap(inner) && !hasKeys(inner) && isMap(value)
    if (!isThere) return { cause: 'not-ours', path: join(path, key) }
  }
  return undefined
}

const mapDrift = (fields: Json, wanted: Json, { live, path }: Place): Drift | undefined => {
  const values: Json = isMap(live) ? live : {}
  for (const [entry, inner] of Object.entries(fields)) {
    if (entry === '.') continue
    const key = entry.slice('f:'.length)
    const at = {
      fields: inner,
      wanted: wanted[key],
      live: values[key],
      path: join(path, key),
    }
    if (!Object.hasOwn(wanted, key)) return { cause: 'not-wanted', path: at.path }
    const found = driftAt(at)
    if (found !== undefined) return found
  }
  return strayDrift(fields, wanted, { path, values })
}

/** The first difference at a place, and below it. An entry without anything in it owns its value whole. */
const driftAt = (place: Place): Drift | undefined => {
  const { fields, wanted, live, path } = place
  const owned: Json = isMap(fields) ? fields : {}
  if (!hasKeys(owned)) return says(live, wanted, path) ? undefined : { cause: 'changed', path }
  if (Array.isArray(wanted)) return itemsDrift(owned, wanted, place)
  if (isMap(wanted)) return mapDrift(owned, wanted, place)
  // A scalar is always owned whole.
  return { cause: 'not-wanted', path }
}

/**
 * Does a live object differ from what is wanted, so that it must be applied? It does not if the fields that we own, by
 * the apiserver's records, are exactly those that we would apply, and their values are the wanted ones. What others
 * set beside them is no difference. No request is needed to find out.
 */
export const driftOf = (wanted: Json, live: LiveChild): Drift | undefined => {
  const own = live.managedFields.find(
    ({ manager, operation, subresource }) =>
      manager === MANAGER && operation === 'Apply' && subresource === '',
  )
  if (own === undefined) return { cause: 'never-applied', path: '' }
  return driftAt({
    fields: { '.': {}, ...own.fields },
    wanted,
    live: live.object,
    path: '',
  })
}
