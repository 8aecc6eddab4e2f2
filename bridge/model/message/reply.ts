// SPDX-License-Identifier: Apache-2.0
import type { KubeStatus } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { EDGE_CONTROLLER, OK, RESOURCE_GROUP, type Message, type Stamp } from './message.js'
import { errStatus } from './status.js'

/** An object, or why there is none. There is no third: an object that is null kills an edge that waits for its node. */
export type Answer = { readonly object: JsonMap } | { readonly refusal: KubeStatus }

/** The resourceVersion of an object. */
const versionOf = (object: JsonMap): string | undefined => {
  const { resourceVersion }: JsonMap = isMap(object['metadata']) ? object['metadata'] : {}
  return typeof resourceVersion === 'string' ? resourceVersion : undefined
}

const reply = (to: Message, { id, at }: Stamp, more: Partial<Message>): Message => ({
  id,
  parentId: to.id,
  timestamp: at,
  resourceVersion: undefined,
  source: EDGE_CONTROLLER,
  group: RESOURCE_GROUP,
  operation: 'response',
  // As the edge wrote it, whatever it writes for no namespace.
  resource: to.resource,
  content: null,
  ...more,
})

/** It was done. */
export const okReply = (to: Message, stamp: Stamp): Message => reply(to, stamp, { content: OK })

/** The object that was asked for. */
export const objectReply = (to: Message, stamp: Stamp, object: JsonMap): Message =>
  reply(to, stamp, { content: object, resourceVersion: versionOf(object) })

/** What became of a write, or of a query whose asker can read an error: `{Object, Err}`. */
export const answerReply = (to: Message, stamp: Stamp, answer: Answer): Message =>
  'object' in answer
    ? reply(to, stamp, {
        content: { Object: answer.object, Err: null },
        resourceVersion: versionOf(answer.object),
      })
    : reply(to, stamp, { content: { Object: null, Err: errStatus(answer.refusal) } })

/**
 * It failed, to an asker that would store any response as the object. Text that is no JSON: the edge keeps nothing of it
 * and asks again.
 */
export const errorReply = (to: Message, stamp: Stamp, text: string): Message =>
  reply(to, stamp, { operation: 'error', content: `error: ${text}` })

/** A text that was asked for, such as a certificate in PEM. */
export const textReply = (to: Message, stamp: Stamp, text: string): Message =>
  reply(to, stamp, { content: text })

/** The answer to KubeEdge's own `ping` and `config`, which nobody else sees. */
export const controlReply = (to: Message, stamp: Stamp): Message =>
  reply(to, stamp, { source: to.source, group: to.group, content: 'ack' })

/** An edge asks for its devices every minute until it hears of them: there are none. */
export const membershipReply = (to: Message, stamp: Stamp): Message =>
  reply(to, stamp, {
    source: 'devicecontroller',
    group: 'twin',
    content: { event_id: '', timestamp: stamp.at, devices: [] },
  })

/** Go reads bytes from base64. */
const bytesOf = (text: string): string => Buffer.from(text).toString('base64')

/** What the asker at the edge waits for: its own words with the outcome in them. Anything else it takes for no answer. */
const echoOf = ({ ID, Key, Verb, Nodename }: JsonMap): JsonMap => ({ ID, Key, Verb, Nodename })

/** A request as it came, done. @param body what the Kubernetes API answered; undefined where that is nothing */
export const approved = (asked: JsonMap, body: string | undefined): JsonMap => ({
  ...echoOf(asked),
  Status: 'Approved',
  ...(body === undefined ? {} : { RespBody: bytesOf(body) }),
})

/** A request as it came, and why it is not done. */
export const rejected = (asked: JsonMap, refusal: KubeStatus): JsonMap => ({
  ...echoOf(asked),
  ...{ Status: 'Rejected', Reason: refusal.message, Error: errStatus(refusal) },
})

/** What became of a request to the edge's own Kubernetes API. @param application as it came, with the outcome in it */
export const applicationReply = (to: Message, stamp: Stamp, application: JsonMap): Message =>
  reply(to, stamp, {
    source: 'dynamiccontroller',
    operation: 'applicationResponse',
    resource: 'ignore/Application/ignore',
    content: application,
  })

/** The watches of an edge's own Kubernetes API that have come to nothing, by their names for it. */
export const watchesReply = (to: Message, stamp: Stamp, failed: JsonMap): Message =>
  reply(to, stamp, {
    source: 'dynamiccontroller',
    operation: 'applicationResponse',
    content: failed,
  })
