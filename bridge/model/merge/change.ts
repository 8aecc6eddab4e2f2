// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../../core/json.js'
import { id64 } from '../../../core/ids.js'
import type { ObjectType } from '../resource/kinds.js'
import { essenceOf } from './tidy.js'

/** A short hash of the part of an object that edges are sent, 11 characters: another hash means a change. */
export const printOf = (type: ObjectType, object: JsonMap): string => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(id64(essenceOf(type, object)))
  return bytes.toString('base64url')
}

/** What was last seen of an object. */
export interface Seen {
  readonly uid: string
  readonly print: string
}

/**
 * Is it sent to edges? One that came, went, is another one of that name, or changed; not of one whose status alone
 * changed. Whatever a watch calls it, a change that nobody saw is found in the same way.
 */
export const isNews = (before: Seen | undefined, after: Seen | undefined): boolean =>
  before?.uid !== after?.uid || before?.print !== after?.print
