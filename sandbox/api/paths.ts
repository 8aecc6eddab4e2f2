// SPDX-License-Identifier: Apache-2.0
import { rowOf, type Row } from './registry.js'

/** What a path of the API names. */
export interface ResourcePath {
  readonly row: Row
  readonly namespace: string | undefined
  readonly name: string | undefined
  /** '' for the object itself. */
  readonly subresource: string
}

/** The part behind `/api/v1` or `/apis/GROUP/VERSION`. */
const inGroup = (
  group: string,
  version: string,
  rest: readonly string[],
): ResourcePath | undefined => {
  const [first, second, third] = rest
  const spaced = first === 'namespaces' && third !== undefined && third !== 'status'
  const namespace = spaced ? second : undefined
  const [resource, name, subresource = '', ...more] = spaced ? rest.slice(2) : rest
  if (resource === undefined || more.length > 0) return undefined
  const row = rowOf(group, version, resource)
  if (row === undefined) return undefined
  if (spaced !== row.namespaced && (spaced || name !== undefined)) return undefined
  if (subresource !== '' && !(subresource === 'status' && row.status)) return undefined
  return { row, namespace, name, subresource }
}

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment // not a valid escape: it is taken as it is written
  }
}

/** Undefined when nothing is served there. */
export const parsePath = (path: string): ResourcePath | undefined => {
  const [root, ...rest] = path
    .replace(/^\/+|\/+$/g, '')
    .split('/')
    .map(decoded)
  if (root === 'api' && rest[0] === 'v1') return inGroup('', 'v1', rest.slice(1))
  const [group, version, ...more] = rest
  if (root !== 'apis' || group === undefined || version === undefined) return undefined
  return inGroup(group, version, more)
}
