// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../../core/json.js'
import { id64 } from '../../../core/ids.js'
import type { ObjectType } from '../resource/kinds.js'
import { essenceOf } from './tidy.js'

/** A hash of 11 characters over the parts of an object that edges are sent; it changes only when those do. */
export const printOf = (type: ObjectType, object: JsonMap): string => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(id64(essenceOf(type, object)))
  return bytes.toString('base64url')
}

/** An object as last seen. */
export interface Seen {
  readonly uid: string
  readonly print: string
}

/**
 * Whether a change has to be sent to edges: the object was created, deleted, replaced by another of the same name, or
 * changed in more than its status. Compares states, so it does not depend on which events a watch missed.
 */
export const isNews = (before: Seen | undefined, after: Seen | undefined): boolean =>
  before?.uid !== after?.uid || before?.print !== after?.print
