// SPDX-License-Identifier: Apache-2.0
import { isMap, sameJson, textAt, type JsonMap } from '../object.js'
import * as status from '../../../kube/server/status.js'
import type { FieldRules } from './field-rules.js'
import {
  fieldsOf,
  fromFieldsV1,
  isWithin,
  shownPath,
  toFieldsV1,
  type FieldSet,
} from './field-set.js'

/** Who writes, and how. */
export interface Manager {
  readonly name: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  /** '' for the object itself. */
  readonly subresource: string
}

/** Who owns which fields since when. */
export interface Owned extends Manager {
  readonly time: string
  readonly fields: FieldSet
}

const isSame = (a: Manager, b: Manager): boolean =>
  a.name === b.name &&
  a.operation === b.operation &&
  a.apiVersion === b.apiVersion &&
  a.subresource === b.subresource

/** The entries of `metadata.managedFields`; none for what is no list, or a list that only asks to begin anew. */
export const readManagers = (managedFields: unknown): readonly Owned[] =>
  (Array.isArray(managedFields) ? managedFields : [])
    .filter(isMap)
    .filter(entry => textAt(entry, 'manager') !== '')
    .map(entry => ({
      name: textAt(entry, 'manager'),
      operation: entry['operation'] === 'Apply' ? 'Apply' : 'Update',
      apiVersion: textAt(entry, 'apiVersion'),
      subresource: textAt(entry, 'subresource'),
      time: textAt(entry, 'time'),
      fields: fromFieldsV1(entry['fieldsV1']),
    }))

const rank = ({ operation, time, name }: Owned): string =>
  `${operation === 'Apply' ? 0 : 1}${time} ${name}`

export const writeManagers = (all: readonly Owned[]): JsonMap[] =>
  [...all]
    .sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
    .map(({ name, operation, apiVersion, subresource, time, fields }) => ({
      manager: name,
      operation,
      apiVersion,
      time,
      fieldsType: 'FieldsV1',
      fieldsV1: toFieldsV1(fields),
      ...(subresource === '' ? {} : { subresource }),
    }))

/** Whether they own the same, whenever they wrote it. */
export const sameManagers = (a: readonly Owned[], b: readonly Owned[]): boolean => {
  const timeless = (all: readonly Owned[]) =>
    writeManagers(all.map(owned => ({ ...owned, time: '' })))
  return sameJson(timeless(a), timeless(b))
}

/** What a write changed. */
interface Change {
  /** Fields that are new or have another value. */
  readonly set: FieldSet
  readonly removed: FieldSet
}

export const changeOf = (
  before: JsonMap,
  after: JsonMap,
  rules: FieldRules,
  without: readonly string[],
): Change => {
  const was = fieldsOf(before, rules, { withMaps: true, without })
  const is = fieldsOf(after, rules, { withMaps: true, without })
  const set = [...is].filter(([path, value]) => !was.has(path) || !sameJson(was.get(path), value))
  return {
    set: new Set(set.map(([path]) => path)),
    removed: new Set([...was.keys()].filter(path => !is.has(path))),
  }
}

const minus = (fields: FieldSet, others: FieldSet): FieldSet =>
  new Set([...fields].filter(path => !others.has(path)))

/** What is left of others' fields after a change by somebody else. */
const reduced = (others: readonly Owned[], { set, removed }: Change): Owned[] =>
  others
    .map(owned => ({ ...owned, fields: minus(minus(owned.fields, set), removed) }))
    .filter(({ fields }) => fields.size > 0)

/** After a create, an update or a patch: who wrote a field owns it, alone. */
export const afterUpdate = (
  all: readonly Owned[],
  by: Manager,
  change: Change,
  now: string,
): readonly Owned[] => {
  const own = all.find(owned => isSame(owned, by))
  const others = reduced(
    all.filter(owned => owned !== own),
    change,
  )
  const fields = minus(new Set([...(own?.fields ?? []), ...change.set]), change.removed)
  if (fields.size === 0) return others
  const isUnchanged = own !== undefined && change.set.size === 0 && change.removed.size === 0
  return [...others, { ...by, time: isUnchanged ? own.time : now, fields }]
}

/** What an applier gave up: it applied them before and does not now, and nobody else owns them or what is inside. */
export const givenUp = (all: readonly Owned[], by: Manager, applied: FieldSet): FieldSet => {
  const before = all.find(owned => isSame(owned, by))?.fields ?? new Set()
  const kept = all.filter(owned => !isSame(owned, by)).flatMap(({ fields }) => [...fields])
  return new Set(
    [...minus(before, applied)].filter(
      path => ![...kept, ...applied].some(other => isWithin(other, path)),
    ),
  )
}

/** As the real one names an owner in a conflict. */
const shown = ({ name, operation, apiVersion, subresource, time }: Owned): string => {
  const part = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`
  const how = operation === 'Update' ? ` using ${apiVersion} at ${time}` : ''
  return `${JSON.stringify(name)}${part}${how}`
}

interface Conflict {
  readonly owner: string
  readonly field: string
}

const conflictText = (conflicts: readonly Conflict[]): string => {
  const owners = [...new Set(conflicts.map(({ owner }) => owner))]
  const parts = owners.map(owner => {
    const fields = conflicts.filter(one => one.owner === owner).map(({ field }) => field)
    return fields.length === 1
      ? `conflict with ${owner}: ${fields[0]}`
      : `conflicts with ${owner}:\n${fields.map(field => `- ${field}`).join('\n')}`
  })
  const count = `${conflicts.length} conflict${conflicts.length === 1 ? '' : 's'}`
  return `Apply failed with ${count}: ${parts.join('\n')}`
}

const conflictsOf = (others: readonly Owned[], { set }: Change): readonly Conflict[] =>
  others.flatMap(owned =>
    [...owned.fields]
      .filter(path => set.has(path))
      .sort()
      .map(path => ({ owner: shown(owned), field: shownPath(path) })),
  )

/**
 * After a server-side apply: its manager owns what it applied, beside others who want the same.
 * @throws Refusal 409 when others own a field with another value and the apply is not forced.
 */
export const afterApply = (
  all: readonly Owned[],
  by: Manager,
  change: Change,
  { applied, isForced, now }: { applied: FieldSet; isForced: boolean; now: string },
): readonly Owned[] => {
  const own = all.find(owned => isSame(owned, by))
  const others = all.filter(owned => owned !== own)
  const conflicts = isForced ? [] : conflictsOf(others, change)
  if (conflicts.length > 0)
    throw new status.Refusal(409, 'Conflict', conflictText(conflicts), {
      details: {
        causes: conflicts.map(({ owner, field }) => ({
          reason: 'FieldManagerConflict',
          message: `conflict with ${owner}`,
          field,
        })),
      },
    })
  const mine = applied.size === 0 ? [] : [{ ...by, time: now, fields: applied }]
  return [...reduced(others, change), ...mine]
}
