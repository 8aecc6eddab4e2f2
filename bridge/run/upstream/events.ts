// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../../core/json.js'
import { contentObject } from '../../model/message/content.js'
import { KINDS } from '../../model/resource/kinds.js'
import { metadataOf } from '../../model/merge/tidy.js'
import { checkRight, eventIn } from '../../model/right/right.js'
import type { Call, Result } from './call.js'
import { objectNameOf, objectsOf } from './objects.js'

const EVENTS = objectsOf('event')

/** Fields that change when the same Event occurs again. */
const COUNTED = ['count', 'lastTimestamp', 'message', 'series'] as const

const countedOf = (event: JsonMap): JsonMap =>
  Object.fromEntries(COUNTED.flatMap(key => (event[key] === undefined ? [] : [[key, event[key]]])))

const createEvent = async (call: Call): Promise<void> => {
  const { client, resource, guard, signal } = call
  const event = eventIn(call.content)
  const { namespace, name } = resource
  const { apiVersion, kind } = KINDS.event
  const { labels, annotations } = metadataOf(event)
  const metadata = {
    ...{ namespace, name },
    ...(isMap(labels) ? { labels } : {}),
    ...(isMap(annotations) ? { annotations } : {}),
  }
  const body = { ...event, apiVersion, kind, metadata }
  await client.create(EVENTS, { namespace }, { body, guard }, signal)
}

/** The changed fields of an Event that exists already. */
const changeOf = ({ message, content }: Call): JsonMap =>
  message.operation === 'patch' ? contentObject('patch of an Event', content['patchData']) : content

/** The existing Event must be the node's own, whatever the message claims. */
const updateEvent = async (call: Call): Promise<Result> => {
  const { client, resource, guard, signal, locations } = call
  const name = objectNameOf(resource)
  const known = await client.get(EVENTS, name, signal)
  const right = checkRight({ ...call, content: known }, locations)
  if (!right.ok) return { kind: 'refused', refusal: right.refusal }
  const { uid } = metadataOf(known)
  const body = { ...countedOf(changeOf(call)), metadata: { uid } }
  await client.patch(EVENTS, name, { patch: { type: 'merge', body }, guard }, signal)
  return { kind: 'done' }
}

/** Write an Event that an edge reports about itself or its pods. */
export const writeEvent = async (call: Call): Promise<Result> => {
  if (call.message.operation !== 'insert') return updateEvent(call)
  await createEvent(call)
  return { kind: 'done' }
}
