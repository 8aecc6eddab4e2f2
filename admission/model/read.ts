// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../core/json.js'
import { mapsAt, textAt, valueAt } from '../../core/json-at.js'

/** The status of the condition with this type; '' when missing. */
export const conditionStatus = (object: unknown, type: string): string =>
  textAt(
    mapsAt(object, 'status', 'conditions').find(condition => condition['type'] === type),
    'status',
  )

/** Epoch ms of a time in the API's format; undefined for anything else. */
export const instantOf = (text: string): number | undefined => {
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** An entry of managedFields, as far as it tells writes apart. */
const writeOf = (entry: JsonMap): string =>
  ['manager', 'operation', 'subresource', 'time'].map(key => textAt(entry, key)).join('\n')

const hasTaints = (entry: JsonMap): boolean =>
  valueAt(entry, 'fieldsV1', 'f:spec', 'f:taints') !== undefined

/**
 * The timestamp of the write under review, epoch ms: the newest in the object's managedFields that the stored object does not
 * have, since earlier ones may be wrong. A writer that wrote twice within a second has no new one: then the one of the entry
 * with the taints counts. Undefined when there is neither.
 */
export const stampOfWrite = (object: unknown, oldObject: unknown): number | undefined => {
  const before = new Set(mapsAt(oldObject, 'metadata', 'managedFields').map(writeOf))
  const entries = mapsAt(object, 'metadata', 'managedFields')
  const added = entries.filter(entry => !before.has(writeOf(entry)))
  return (added.length > 0 ? added : entries.filter(hasTaints))
    .flatMap(entry => instantOf(textAt(entry, 'time')) ?? [])
    .reduce<number | undefined>(
      (newest, stamp) => (newest === undefined || stamp > newest ? stamp : newest),
      undefined,
    )
}
