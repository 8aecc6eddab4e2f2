// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../../core/json.js'
import { id64 } from '../../../core/ids.js'
import type { ObjectType } from '../resource/kinds.js'
import type { ObjectEvent } from '../route/downstream.js'
import { essenceOf, metadataOf } from './tidy.js'

/** A short mark of the part of an object that edges are told of: 11 characters. Two that differ mean a change. */
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

/** An event, and what is to be remembered; undefined: nothing. */
export interface Change {
  /** What an edge is to be told; undefined: nothing. */
  readonly event: ObjectEvent | undefined
  readonly seen: Seen | undefined
}

/**
 * What a watch's event means for edges. An object that is being deleted is no new one, whatever the watch calls it; one
 * of another uid is; and one whose status alone changed is not news.
 */
export const changeOf = (
  event: ObjectEvent,
  type: ObjectType,
  object: JsonMap,
  before: Seen | undefined,
): Change => {
  if (event === 'deleted') return { event, seen: undefined }
  const { uid, deletionTimestamp } = metadataOf(object)
  const seen = { uid: String(uid), print: printOf(type, object) }
  const isKnown = before?.uid === seen.uid
  if (isKnown && before.print === seen.print) return { event: undefined, seen }
  const isNew = event === 'added' && !isKnown && deletionTimestamp === undefined
  return { event: isNew ? 'added' : 'modified', seen }
}
