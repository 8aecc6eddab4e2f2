// SPDX-License-Identifier: Apache-2.0
import { placeOf, type Held, type Place } from './held.js'

type Notes = Map<string, Held>

/** It may be there, and nobody knows in which version. */
const unsure = (held: Held): Held => ({ ...held, version: '0', print: '' })

/**
 * An object is about to be sent: from now on it may be there. Written down before the message leaves: a bridge that ends
 * in between would else know nothing of a pod that runs, and nobody would ever stop it.
 */
export const noteSending = (record: Notes, uid: string, held: Held): void => {
  record.set(uid, unsure(held))
}

/** The edge has stored it. */
export const noteStored = (record: Notes, uid: string, held: Held): void => {
  record.set(uid, held)
}

/**
 * The edge has removed an object.
 * @param of What it was.
 * @returns Uids of what has its name now. Edges before 1.23 remove by name, so it must be sent again.
 */
export const noteRemoved = (record: Notes, uid: string, of: Place): readonly string[] => {
  record.delete(uid)
  const again = [...record].filter(([, held]) => placeOf(held) === placeOf(of))
  for (const [uid, held] of again) record.set(uid, unsure(held))
  return again.map(([uid]) => uid)
}
