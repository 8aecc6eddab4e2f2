// SPDX-License-Identifier: Apache-2.0
import { ROWS, type Resource, type Row } from '../store/resources.js'

/** What a path asks for. */
export interface Target {
  readonly row: Row
  /** As clients see it: `discovery.k8s.io/v1beta1`. */
  readonly apiVersion: string
  /** Undefined: all of them, or none for what is cluster-wide. */
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

/** A path of the API, taken apart as kube-apiserver does it. */
export interface ApiPath {
  readonly apiVersion: string
  /** Undefined for what is cluster-wide, and for all namespaces; an empty one is all of them too. */
  readonly namespace: string | undefined
  readonly resource: string
  readonly name: string | undefined
  /** `status`, `log`, `proxy` and such; what follows it is not told. */
  readonly subresource: string | undefined
  /** The old form of a watch, `/api/v1/watch/…`. */
  readonly isWatch: boolean
}

/** What stands behind `namespaces/NAME` and is part of the Namespace itself. */
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

/** Take a path apart; undefined for what names no resource. @param path without its query */
export const parsePath = (path: string): ApiPath | undefined => {
  const segments = decoded(path.replace(/^\//, '').replace(/\/+$/, '').split('/'))
  if (segments === undefined) return undefined
  const [root, first = '', second = ''] = segments
  if (root === 'api') return inVersion(first, segments.slice(2))
  if (root === 'apis') return inVersion(`${first}/${second}`, segments.slice(3))
  return undefined
}

/** What of ours a path names, whatever its subresource; undefined for everything else. */
export const targetOf = (path: ApiPath): Target | undefined => {
  const { apiVersion, name, isWatch } = path
  const resource = SERVED.get(apiVersion)?.find(each => each === path.resource)
  if (resource === undefined || isWatch) return undefined
  const row = ROWS[resource]
  const namespace = path.namespace === '' ? undefined : path.namespace
  // Namespaced objects by name need their namespace, others must not have one.
  const fits = row.isNamespaced
    ? namespace !== undefined || name === undefined
    : path.namespace === undefined
  return fits ? { row, apiVersion, namespace, name } : undefined
}

/** What of ours a path names to be read; undefined for everything else. @param path without its query */
export const parseTarget = (path: string): Target | undefined => {
  const parsed = parsePath(path)
  return parsed === undefined || parsed.subresource !== undefined ? undefined : targetOf(parsed)
}

/** The store's key of a named target. */
export const keyOf = ({ namespace, name = '' }: Target): string =>
  namespace === undefined ? name : `${namespace}/${name}`
