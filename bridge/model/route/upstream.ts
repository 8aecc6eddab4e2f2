// SPDX-License-Identifier: Apache-2.0
import type { InvalidInputError } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Message } from '../message/message.js'
import { parseResource, type Resource } from '../resource/resource.js'

/** Kinds of requests; each has one executor. */
export type Handler =
  | 'application'
  | 'cluster-ca'
  | 'create-lease'
  | 'create-node'
  | 'create-pod'
  | 'create-token'
  | 'delete-pod'
  | 'membership'
  | 'patch-node-status'
  | 'patch-pod-status'
  | 'read-lease'
  | 'read-object'
  | 'refuse'
  | 'sync-watches'
  | 'update-lease'
  | 'update-node'
  | 'write-event'

/** Priority: Leases before requests that pods wait for, those before Events. */
export type UpstreamLane = 'lease' | 'request' | 'event'

/**
 * The form of the answer. `answer`: `{Object, Err}`; `object`: the object itself, or an `error` with text; `ok` and `text`:
 * that content, or an `error` with text; `none`: no answer.
 */
export type ReplyForm =
  'answer' | 'application' | 'membership' | 'none' | 'object' | 'ok' | 'text' | 'watches'

/** How one kind of request is handled. */
export interface UpstreamRoute {
  readonly handler: Handler
  readonly lane: UpstreamLane
  readonly reply: ReplyForm
  /** Whether the edge acknowledges the reply, once it has stored the object. */
  readonly isReplyAcked: boolean
}

const route = (
  handler: Handler,
  reply: ReplyForm,
  isReplyAcked = false,
  lane: UpstreamLane = 'request',
): UpstreamRoute => ({ handler, lane, reply, isReplyAcked })

const READ = route('read-object', 'object', true)
const EVENT = route('write-event', 'none', false, 'event')
const REFUSE = route('refuse', 'answer')

/** By type and operation: what edges of KubeEdge 1.13 to 1.23 send about objects. */
const ROUTES: Readonly<Record<string, UpstreamRoute>> = {
  'certificatesigningrequest insert': REFUSE,
  'certificatesigningrequest query': REFUSE,
  'configmap query': READ,
  'event insert': EVENT,
  'event patch': EVENT,
  'event update': EVENT,
  'lease insert': route('create-lease', 'answer', true, 'lease'),
  'lease query': route('read-lease', 'answer', true, 'lease'),
  'lease update': route('update-lease', 'answer', true, 'lease'),
  'node insert': route('create-node', 'answer', true),
  'node query': READ,
  'node update': route('update-node', 'ok', true),
  'nodepatch patch': route('patch-node-status', 'answer'),
  'persistentvolume query': READ,
  'persistentvolumeclaim query': READ,
  'pod delete': route('delete-pod', 'ok'),
  'pod insert': route('create-pod', 'answer', true),
  'podpatch patch': route('patch-pod-status', 'answer'),
  'secret query': READ,
  'serviceaccounttoken query': route('create-token', 'object', true),
  'volumeattachment query': READ,
}

/** Requests that are not about an object, by source, operation and resource. */
const SPECIAL: Readonly<Record<string, UpstreamRoute>> = {
  'edged query k8s/ca.crt': route('cluster-ca', 'text'),
  'metaserver null null': route('application', 'application'),
  'metaserver null watchapp/sync': route('sync-watches', 'watches'),
  'twin get membership/detail': route('membership', 'membership'),
}

/** Module names of the cloud: an edge that uses one impersonates the cloud. */
const CLOUD_MODULES: ReadonlySet<string> = new Set([
  ...['cloudhub', 'cloudStream', 'devicecontroller', 'dynamiccontroller', 'edgecontroller'],
  ...['policycontroller', 'router', 'synccontroller', 'taskmanager'],
])

/** What kind of message an edge sent. */
export type Upstream =
  | { readonly kind: 'keepalive' }
  /** KubeEdge's own `ping` or `config`, answered at once. */
  | { readonly kind: 'control' }
  /** The edge acknowledged the message with this id. */
  | { readonly kind: 'ack'; readonly of: string }
  /** The edge reports that the message with this id failed. */
  | { readonly kind: 'failed'; readonly of: string }
  | { readonly kind: 'request'; readonly route: UpstreamRoute; readonly resource: Resource }
  /** A request that names no object. */
  | { readonly kind: 'special'; readonly route: UpstreamRoute }
  /** The sender waits for an answer that the bridge cannot give: it gets an error at once. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** No answer is expected. */
  | { readonly kind: 'ignored'; readonly reason: string }

const about = (message: Message): string =>
  `${message.operation} of ${message.resource} by ${message.source}`

/** Messages that expect no answer: from modules that this bridge does not serve, or to other edges. */
const isUnheard = ({ source, group, operation }: Message): boolean =>
  source === 'twin' || group === 'user' || operation === 'upload' || operation === 'pong'

const requestOf = (message: Message, node: NodeName): Upstream => {
  let resource: Resource
  try {
    resource = parseResource(message.resource, node)
  } catch (error) {
    return { kind: 'unknown', reason: (error as InvalidInputError).message }
  }
  const key = `${resource.type} ${message.operation}`
  const route = Object.hasOwn(ROUTES, key) ? ROUTES[key] : undefined
  if (route === undefined)
    return { kind: 'unknown', reason: `the bridge does not serve ${about(message)}` }
  if (resource.name === '')
    return { kind: 'unknown', reason: `${about(message)} must name an object` }
  return { kind: 'request', route, resource }
}

/** Messages about the connection itself. */
const controlOf = ({ operation, parentId, ...message }: Message): Upstream | undefined => {
  if (operation === 'keepalive') return { kind: 'keepalive' }
  if (operation === 'ping' || operation === 'config') return { kind: 'control' }
  if (operation !== 'response' && operation !== 'error') return undefined
  if (parentId === undefined)
    return {
      kind: 'ignored',
      reason: `${operation} that answers nothing, about ${message.resource}`,
    }
  return { kind: operation === 'response' ? 'ack' : 'failed', of: parentId }
}

/** Classifies a message of this node; it counts as about this node whatever it says. */
export const routeUpstream = (message: Message, node: NodeName): Upstream => {
  const control = controlOf(message)
  if (control !== undefined) return control
  const { source, operation, resource } = message
  if (CLOUD_MODULES.has(source))
    return { kind: 'ignored', reason: `${about(message)}: only the cloud speaks for this module` }
  const key = `${source} ${operation} ${resource}`
  const special = Object.hasOwn(SPECIAL, key) ? SPECIAL[key] : undefined
  if (special !== undefined) return { kind: 'special', route: special }
  if (isUnheard(message))
    return { kind: 'ignored', reason: `the bridge does not serve ${about(message)}` }
  return requestOf(message, node)
}
