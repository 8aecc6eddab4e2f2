// SPDX-License-Identifier: Apache-2.0
import { placeOf, type Held, type Place } from './held.js'

type Notes = Map<string, Held>

/** The edge may have the object, in an unknown version. */
const unsure = (held: Held): Held => ({ ...held, version: '0', print: '' })

/**
 * An object is about to be sent, so the edge may have it from now on. Must be stored before the message is sent: otherwise
 * a bridge that stops in between would not know of a running pod, and nobody would ever stop it.
 */
export const noteSending = (record: Notes, uid: string, held: Held): void => {
  record.set(uid, unsure(held))
}

/** The edge has stored the object. */
export const noteStored = (record: Notes, uid: string, held: Held): void => {
  record.set(uid, held)
}

/**
 * The edge has removed an object.
 * @param of its type and name
 * @returns uids of objects that have that name now: edges before 1.23 remove by name, so these must be sent again
 */
export const noteRemoved = (record: Notes, uid: string, of: Place): readonly string[] => {
  record.delete(uid)
  const again = [...record].filter(([, held]) => placeOf(held) === placeOf(of))
  for (const [uid, held] of again) record.set(uid, unsure(held))
  return again.map(([uid]) => uid)
}
