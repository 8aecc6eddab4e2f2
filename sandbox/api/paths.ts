// SPDX-License-Identifier: Apache-2.0
import type { Row } from './row.js'
import type { Resources } from './resources.js'

/** What a path of the API names. */
export interface ResourcePath {
  readonly row: Row
  readonly namespace: string | undefined
  readonly name: string | undefined
  /** '' for the object itself. */
  readonly subresource: string
}

/** Whether a row is served in a place: namespaced objects by name need their namespace, others must not have one. */
const fits = (row: Row, namespace: string | undefined, name: string | undefined): boolean =>
  row.namespaced ? namespace !== undefined || name === undefined : namespace === undefined

const hasPart = (row: Row, subresource: string): boolean =>
  subresource === '' ||
  (subresource === 'status' && row.status) ||
  (subresource === 'scale' && row.scale !== undefined)

/** The part behind `/api/v1` or `/apis/GROUP/VERSION`. */
const inGroup = (
  resources: Resources,
  group: string,
  version: string,
  rest: readonly string[],
): ResourcePath | undefined => {
  const isInside = rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status'
  const namespace = isInside ? rest[1] : undefined
  const [resource = '', name, subresource = '', ...more] = isInside ? rest.slice(2) : rest
  const row = resources.find(group, version, resource)
  if (row === undefined || more.length > 0 || !fits(row, namespace, name)) return undefined
  if (!hasPart(row, subresource)) return undefined
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
export const parsePath = (path: string, resources: Resources): ResourcePath | undefined => {
  const [root, ...rest] = path
    .replace(/^\/+|\/+$/g, '')
    .split('/')
    .map(decoded)
  if (root === 'api' && rest[0] === 'v1') return inGroup(resources, '', 'v1', rest.slice(1))
  const [group, version, ...more] = rest
  if (root !== 'apis' || group === undefined || version === undefined) return undefined
  return inGroup(resources, group, version, more)
}
