// SPDX-License-Identifier: Apache-2.0
import { ROWS, type Resource, type Row } from '../store/resources.js'

/** What a path asks for. */
export interface Target {
  readonly row: Row
  /** The version in the path: `discovery.k8s.io/v1beta1`. */
  readonly apiVersion: string
  /** Undefined: all namespaces, or a cluster-scoped resource. */
  readonly namespace: string | undefined
  /** Undefined: a list or a watch. */
  readonly name: string | undefined
}

const SERVED: ReadonlyMap<string, readonly Resource[]> = new Map([
  ['v1', ['nodes', 'services', 'endpoints']],
  ['discovery.k8s.io/v1', ['endpointslices']],
  ['discovery.k8s.io/v1beta1', ['endpointslices']],
  ['networking.k8s.io/v1', ['servicecidrs']],
])

const decoded = (segments: readonly string[]): readonly string[] | undefined => {
  try {
    const all = segments.map(decodeURIComponent)
    return all.some(segment => segment.includes('/')) ? undefined : all
  } catch {
    return undefined
  }
}

/** A parsed path of the API, as kube-apiserver parses it. */
export interface ApiPath {
  readonly apiVersion: string
  /** Undefined for cluster-scoped resources and for all namespaces; an empty one means all namespaces too. */
  readonly namespace: string | undefined
  readonly resource: string
  readonly name: string | undefined
  /** `status`, `log`, `proxy` and such; segments after it are not parsed. */
  readonly subresource: string | undefined
  /** The deprecated path of a watch, `/api/v1/watch/…`. */
  readonly isWatch: boolean
}

/** Segments after `namespaces/NAME` that belong to the Namespace itself. */
const OF_NAMESPACE = ['status', 'finalize']

const inVersion = (apiVersion: string, all: readonly string[]): ApiPath => {
  const isWatch = all[0] === 'watch'
  const rest = isWatch ? all.slice(1) : all
  const isInside =
    rest[0] === 'namespaces' &&
    rest.length > 2 &&
    !(rest.length === 3 && OF_NAMESPACE.includes(rest[2]!))
  const [resource = '', name, subresource] = isInside ? rest.slice(2) : rest
  const namespace = isInside ? rest[1] : undefined
  return { apiVersion, namespace, resource, name, subresource, isWatch }
}

/** In linear time; a regular expression would start anew at each slash. */
const withoutTrailingSlashes = (path: string): string => {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/**
 * Parse a path; undefined when it names no resource.
 * @param path without its query
 */
export const parsePath = (path: string): ApiPath | undefined => {
  const segments = decoded(withoutTrailingSlashes(path.replace(/^\//, '')).split('/'))
  if (segments === undefined) return undefined
  const [root, first = '', second = ''] = segments
  if (root === 'api') return inVersion(first, segments.slice(2))
  if (root === 'apis') return inVersion(`${first}/${second}`, segments.slice(3))
  return undefined
}

/** The target in the store that a path names, with any subresource; undefined for everything else. */
export const targetOf = (path: ApiPath): Target | undefined => {
  const { apiVersion, name, isWatch } = path
  const resource = SERVED.get(apiVersion)?.find(each => each === path.resource)
  if (resource === undefined || isWatch) return undefined
  const row = ROWS[resource]
  const namespace = path.namespace === '' ? undefined : path.namespace
  // A namespaced object's name needs a namespace, a cluster-scoped one must not have one.
  const fits = row.isNamespaced
    ? namespace !== undefined || name === undefined
    : path.namespace === undefined
  return fits ? { row, apiVersion, namespace, name } : undefined
}

/**
 * The target in the store that a path reads; undefined for everything else.
 * @param path without its query
 */
export const parseTarget = (path: string): Target | undefined => {
  const parsed = parsePath(path)
  return parsed === undefined || parsed.subresource !== undefined ? undefined : targetOf(parsed)
}

/** The store's key of a named target. */
export const keyOf = ({ namespace, name = '' }: Target): string =>
  namespace === undefined ? name : `${namespace}/${name}`
