// SPDX-License-Identifier: Apache-2.0
import { isMap, sameJson } from '../../core/json.js'
import type { Operation } from './decide.js'
import { joinPath } from './drift.js'
import type { Json } from './grid.js'

/** A field that a write would change. */
export interface FieldChange {
  /** `spec.template.spec.containers[name=web].image` */
  readonly path: string
  /** Undefined when the field does not exist. */
  readonly before: unknown
  readonly after: unknown
}

/** The name or port that identifies an item of a list. */
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

/** Differences in wanted fields only; other fields may belong to somebody else. */
const changesAt = (path: string, before: unknown, after: unknown): readonly FieldChange[] => {
  if (Array.isArray(after) && Array.isArray(before)) return listChanges(path, before, after)
  if (isMap(after) && isMap(before))
    return Object.entries(after).flatMap(([key, inner]) =>
      changesAt(joinPath(path, key), before[key], inner),
    )
  return sameJson(before, after) ? [] : [{ path, before, after }]
}

/** The fields that an operation would change; none for a new object. Fields that we own and no longer want come last. */
export const changesOf = (operation: Operation): readonly FieldChange[] => {
  if (operation.kind !== 'apply' || operation.target.kind === 'new') return []
  const { live } = operation.target
  const wanted: Json = operation.child.object
  const changes = changesAt('', live.object, wanted)
  const { drift } = operation
  if (drift?.cause !== 'not-wanted') return changes
  return [...changes, { path: drift.path, before: 'ours', after: undefined }]
}
