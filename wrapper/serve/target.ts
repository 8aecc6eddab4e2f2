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

/** Namespaced objects by name need their namespace, others must not have one. */
const fits = (
  { isNamespaced }: Row,
  isInside: boolean,
  { namespace, name }: Pick<Target, 'namespace' | 'name'>,
): boolean => (isNamespaced ? namespace !== undefined || name === undefined : !isInside)

const inVersion = (apiVersion: string, rest: readonly string[]): Target | undefined => {
  const isInside = rest[0] === 'namespaces' && rest.length > 2
  const [word = '', name, ...more] = isInside ? rest.slice(2) : rest
  const resource = SERVED.get(apiVersion)?.find(each => each === word)
  if (resource === undefined || more.length > 0) return undefined
  const row = ROWS[resource]
  // An empty namespace is all of them.
  const namespace = isInside && rest[1] !== '' ? rest[1] : undefined
  return fits(row, isInside, { namespace, name }) ? { row, apiVersion, namespace, name } : undefined
}

/** What of ours a path names; undefined for everything else. @param path without its query */
export const parseTarget = (path: string): Target | undefined => {
  const segments = decoded(path.replace(/^\//, '').replace(/\/$/, '').split('/'))
  if (segments === undefined) return undefined
  const [root, first = '', second = ''] = segments
  if (root === 'api') return inVersion(first, segments.slice(2))
  if (root === 'apis') return inVersion(`${first}/${second}`, segments.slice(3))
  return undefined
}

/** The store's key of a named target. */
export const keyOf = ({ namespace, name = '' }: Target): string =>
  namespace === undefined ? name : `${namespace}/${name}`
