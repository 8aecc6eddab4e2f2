// SPDX-License-Identifier: Apache-2.0
import { Fields } from './fields.js'
import { messageOf, type Message, type Shape } from './schema.js'

const isKnown = (message: Message, fields: Fields): boolean => {
  while (fields.next()) {
    const place = message.places[fields.number]
    if (place === undefined) return false
    const { type } = message.fields[place]!
    // Maps hold no messages.
    if (typeof type !== 'string' && !isKnown(type, fields.inside())) return false
  }
  return true
}

/**
 * Whether an object's JSON is complete: a newer apiserver may know fields that our table does not, and JSON lacks
 * those. @throws WireError
 */
export const hasOnlyKnownFields = (shape: Shape, raw: Uint8Array): boolean =>
  isKnown(messageOf(shape), new Fields(raw))
