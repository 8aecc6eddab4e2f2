// SPDX-License-Identifier: Apache-2.0
import { isMap, sameJson } from '../../core/json.js'
import type { Json } from './grid.js'
import type { LiveChild } from './live.js'
import { amountOf } from './quantity.js'
import { MANAGER } from './marks.js'

/** Why a child must be applied. */
export type DriftCause =
  /** We have never applied it: it was created by SuperEdge, or handed over. */
  | 'never-applied'
  /** We want a field that we do not own: it is new, or somebody else set it. */
  | 'not-ours'
  /** We own a field that we no longer want. */
  | 'not-wanted'
  /** We own a field that has another value. */
  | 'changed'

export interface Drift {
  readonly cause: DriftCause
  /** The first field that differs: `spec.template.spec.containers[name=web].image`. */
  readonly path: string
}

/** The fields that identify an object have no owner. */
const isIdentity = (path: string, key: string): boolean =>
  (path === '' && (key === 'apiVersion' || key === 'kind')) ||
  (path === 'metadata' && (key === 'name' || key === 'namespace'))

/** The path of a field below another one; '' is the path of the object. */
export const joinPath = (path: string, key: string): string =>
  path === '' ? key : `${path}.${key}`

/** Fields that the apiserver normalizes: 1000m becomes 1. */
const QUANTITIES = /(^|\.)(limits|requests|sizeLimit|divisor)(\.|$)/

const hasKeys = (map: Json): boolean => Object.keys(map).length > 0

/** Values that the apiserver omits, as Go does with empty fields. */
const isEmpty = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length === 0
    : isMap(value)
      ? !hasKeys(value)
      : value === '' || value === 0 || value === false

/**
 * Fields that the apiserver adds inside values that are owned as a whole: in field references, projected tokens, claim
 * templates.
 */
const DEFAULTED: ReadonlySet<string> = new Set([
  ...['apiVersion', 'kind', 'creationTimestamp', 'status', 'divisor', 'expirationSeconds'],
  ...['defaultMode', 'volumeMode'],
])

/** Fields of a container or its probes as `FILLED_IN` has them. */
const OF_CONTAINER: readonly string[] = [
  ...['imagePullPolicy', 'terminationMessagePath', 'terminationMessagePolicy'],
  ...['livenessProbe', 'readinessProbe', 'startupProbe'].flatMap(probe =>
    [
      ...['timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'],
      ...['httpGet.path', 'httpGet.scheme'],
    ].map(field => `${probe}.${field}`),
  ),
]

/**
 * Fields that the apiserver chooses where they are empty: `clusterIP: ""` asks for any address, as no `clusterIP` does.
 * Paths without list items.
 */
const FILLED_IN: ReadonlySet<string> = new Set(
  [
    ...['type', 'clusterIP', 'clusterIPs', 'ipFamilies', 'sessionAffinity'],
    ...['externalTrafficPolicy', 'healthCheckNodePort', 'ports.nodePort', 'ports.targetPort'],
    ...['strategy.type', 'updateStrategy.type', 'podManagementPolicy'],
    ...[
      ...['restartPolicy', 'dnsPolicy', 'schedulerName'],
      ...OF_CONTAINER.flatMap(field => [`containers.${field}`, `initContainers.${field}`]),
    ].map(field => `template.spec.${field}`),
  ].map(field => `spec.${field}`),
)

const isLeftToServer = (wanted: unknown, path: string): boolean =>
  isEmpty(wanted) && FILLED_IN.has(path.replaceAll(/\[[^\]]*\]/g, ''))

/** Maps of text in which an unwanted entry is a difference even when the wanted map is empty. */
const OF_TEXTS = /(^|\.)(selector|nodeSelector|matchLabels)$/

const mapSays = (live: Json, wanted: Json, path: string): boolean =>
  // An empty map leaves the defaults to the apiserver.
  (!hasKeys(wanted) && !OF_TEXTS.test(path)) ||
  (Object.entries(wanted).every(([key, inner]) => says(live[key], inner, joinPath(path, key))) &&
    Object.keys(live).every(key => Object.hasOwn(wanted, key) || DEFAULTED.has(key)))

/**
 * Whether a live value is the wanted one and no more. An unknown default counts as a difference, which costs a request that
 * changes nothing; the opposite mistake would miss a change.
 */
const says = (live: unknown, wanted: unknown, path: string): boolean => {
  if (live === undefined) return isEmpty(wanted)
  if (isLeftToServer(wanted, path)) return true
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

/** The only key of a list of maps that may be omitted and defaulted. */
const DEFAULTS: Readonly<Record<string, unknown>> = { protocol: 'TCP' }

/** Finds the list item that an entry of managedFields names: `k:{"name":"web"}` by its keys, `v:"x"` by its value. */
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

/** The first wanted field that we do not own. An empty value cannot be owned; it only has to exist. */
const strayDrift = (
  fields: Json,
  wanted: Json,
  { path, values }: { readonly path: string; readonly values: Json },
): Drift | undefined => {
  for (const [key, inner] of Object.entries(wanted)) {
    if (Object.hasOwn(fields, `f:${key}`) || isIdentity(path, key)) continue
    const value = values[key]
    // An empty list cannot be owned; an empty map must at least exist.
    const isThere = Array.isArray(inner)
      ? inner.length === 0 && says(value, inner, joinPath(path, key))
      : isMap(inner) && !hasKeys(inner) && isMap(value)
    if (!isThere) return { cause: 'not-ours', path: joinPath(path, key) }
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
      path: joinPath(path, key),
    }
    if (!Object.hasOwn(wanted, key)) return { cause: 'not-wanted', path: at.path }
    const found = driftAt(at)
    if (found !== undefined) return found
  }
  return strayDrift(fields, wanted, { path, values })
}

/** The first difference at a field or below. A managedFields entry without children owns the whole value. */
const driftAt = (place: Place): Drift | undefined => {
  const { fields, wanted, live, path } = place
  const owned: Json = isMap(fields) ? fields : {}
  if (!hasKeys(owned)) return says(live, wanted, path) ? undefined : { cause: 'changed', path }
  if (Array.isArray(wanted)) return itemsDrift(owned, wanted, place)
  if (isMap(wanted)) return mapDrift(owned, wanted, place)
  // A scalar is owned as a whole.
  return { cause: 'not-wanted', path }
}

/**
 * Whether a live object differs from what is wanted and must be applied. It does not if the fields that we own, by
 * managedFields, are exactly those that we would apply, with the wanted values. What others set is no difference. Needs no
 * request.
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
