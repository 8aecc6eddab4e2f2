// SPDX-License-Identifier: Apache-2.0
import { mapsAt, textAt } from '../../core/json-at.js'

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

/** The newest timestamp in an object's managedFields, epoch ms: of the write under review or an earlier one. */
export const newestStamp = (object: unknown): number | undefined =>
  mapsAt(object, 'metadata', 'managedFields')
    .flatMap(entry => instantOf(textAt(entry, 'time')) ?? [])
    .reduce<number | undefined>(
      (newest, stamp) => (newest === undefined || stamp > newest ? stamp : newest),
      undefined,
    )
