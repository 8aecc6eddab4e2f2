// SPDX-License-Identifier: Apache-2.0
import { isMap, sameJson } from '../../core/json.js'
import type { Operation } from './decide.js'
import type { Json } from './grid.js'

/** One field that a write would change. */
export interface FieldChange {
  /** `spec.template.spec.containers[name=web].image` */
  readonly path: string
  /** Undefined: it is not there. */
  readonly before: unknown
  readonly after: unknown
}

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

/** By what an item of a list is known: its name, or its port. */
const keyOf = (item: unknown): string | undefined => {
  if (!isMap(item)) return undefined
  const key = ['name', 'uid', 'port', 'key'].find(key => item[key] !== undefined)
  return key === undefined ? undefined : `${key}=${item[key] as string | number}`
}

const listChanges = (
  path: string,
  before: readonly unknown[],
  after: readonly unknown[],
): readonly FieldChange[] =>
  after.flatMap((item, at) => {
    const key = keyOf(item)
    const old = key === undefined ? before[at] : before.find(other => keyOf(other) === key)
    return changesAt(`${path}[${key ?? String(at)}]`, old, item)
  })

/** What is wanted and different. What is there beside it may be somebody else's, and stays. */
const changesAt = (path: string, before: unknown, after: unknown): readonly FieldChange[] => {
  if (Array.isArray(after) && Array.isArray(before)) return listChanges(path, before, after)
  if (isMap(after) && isMap(before))
    return Object.entries(after).flatMap(([key, inner]) =>
      changesAt(join(path, key), before[key], inner),
    )
  return sameJson(before, after) ? [] : [{ path, before, after }]
}

/**
 * The fields that an operation would change, of a new object none: all of it is new. A field that is ours and not wanted any
 * more comes last.
 */
export const changesOf = (operation: Operation): readonly FieldChange[] => {
  if (operation.kind !== 'apply' || operation.target.kind === 'new') return []
  const { live } = operation.target
  const wanted: Json = operation.child.object
  const changes = changesAt('', live.object, wanted)
  const { drift } = operation
  if (drift?.cause !== 'not-wanted') return changes
  return [...changes, { path: drift.path, before: 'ours', after: undefined }]
}
