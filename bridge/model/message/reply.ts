// SPDX-License-Identifier: Apache-2.0
import type { KubeStatus } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { ReplyForm } from '../route/upstream.js'
import { EDGE_CONTROLLER, OK, RESOURCE_GROUP, type Message, type Stamp } from './message.js'
import { errStatus } from './status.js'

/** An object, or why there is none. Never a null object, which crashes an edge that waits for its node. */
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
  // Copied from the request: edges differ in what they write for no namespace.
  resource: to.resource,
  content: null,
  ...more,
})

/** Success without an object. */
export const okReply = (to: Message, stamp: Stamp): Message => reply(to, stamp, { content: OK })

/** The requested object. */
export const objectReply = (to: Message, stamp: Stamp, object: JsonMap): Message =>
  reply(to, stamp, { content: object, resourceVersion: versionOf(object) })

/** The outcome of a write, or of a query whose sender understands errors: `{Object, Err}`. */
export const answerReply = (to: Message, stamp: Stamp, answer: Answer): Message =>
  'object' in answer
    ? reply(to, stamp, {
        content: { Object: answer.object, Err: null },
        resourceVersion: versionOf(answer.object),
      })
    : reply(to, stamp, { content: { Object: null, Err: errStatus(answer.refusal) } })

/**
 * A failure, for senders that would store any response as the object. The content is text and not JSON, so the edge stores
 * nothing and asks again.
 */
export const errorReply = (to: Message, stamp: Stamp, text: string): Message =>
  reply(to, stamp, { operation: 'error', content: `error: ${text}` })

/** A requested text, such as a certificate in PEM. */
export const textReply = (to: Message, stamp: Stamp, text: string): Message =>
  reply(to, stamp, { content: text })

/** The answer to KubeEdge's own `ping` and `config`. */
export const controlReply = (to: Message, stamp: Stamp): Message =>
  reply(to, stamp, { source: to.source, group: to.group, content: 'ack' })

/** Says that the edge has no devices. Without this answer it asks again every minute. */
export const membershipReply = (to: Message, stamp: Stamp): Message =>
  reply(to, stamp, {
    source: 'devicecontroller',
    group: 'twin',
    content: { event_id: '', timestamp: stamp.at, devices: [] },
  })

/** As Go encodes bytes in JSON. */
const bytesOf = (text: string): string => Buffer.from(text).toString('base64')

/** Longer fields are no edge's, and answers that it does not read take memory. As long as a field of an `Application` may be. */
const MAX_ECHO = 2_048

const short = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= MAX_ECHO ? value : undefined

/** The fields that the edge must find again in the answer, or it does not recognize it. */
const echoOf = ({ ID, Key, Verb, Nodename }: JsonMap): JsonMap => ({
  ...{ ID: short(ID), Key: short(Key), Verb: short(Verb), Nodename: short(Nodename) },
})

/** The request with a successful outcome. @param body the Kubernetes API's answer; undefined for an empty one */
export const approved = (asked: JsonMap, body: string | undefined): JsonMap => ({
  ...echoOf(asked),
  Status: 'Approved',
  ...(body === undefined ? {} : { RespBody: bytesOf(body) }),
})

/** The request with a refusal. */
export const rejected = (asked: JsonMap, refusal: KubeStatus): JsonMap => ({
  ...echoOf(asked),
  ...{ Status: 'Rejected', Reason: refusal.message, Error: errStatus(refusal) },
})

/** The outcome of a request to the edge's own Kubernetes API. @param application the request with its outcome */
export const applicationReply = (to: Message, stamp: Stamp, application: JsonMap): Message =>
  reply(to, stamp, {
    source: 'dynamiccontroller',
    operation: 'applicationResponse',
    resource: 'ignore/Application/ignore',
    content: application,
  })

/** The failed watches of an edge's own Kubernetes API, by the edge's ids for them. */
export const watchesReply = (to: Message, stamp: Stamp, failed: JsonMap): Message =>
  reply(to, stamp, {
    source: 'dynamiccontroller',
    operation: 'applicationResponse',
    content: failed,
  })

/** The request of an edge's MetaServer; empty when it cannot be read. */
export const askedBy = ({ content }: Message): JsonMap => (isMap(content) ? content : {})

/** A refusal in the form that the sender understands; undefined when it expects no answer. */
export const refusalReply = (
  form: ReplyForm,
  to: Message,
  stamp: Stamp,
  refusal: KubeStatus,
): Message | undefined => {
  switch (form) {
    case 'none':
      return undefined
    case 'application':
      return applicationReply(to, stamp, rejected(askedBy(to), refusal))
    case 'answer':
      return answerReply(to, stamp, { refusal })
    case 'membership':
    case 'object':
    case 'ok':
    case 'text':
    case 'watches':
      return errorReply(to, stamp, refusal.message)
  }
}
