// SPDX-License-Identifier: Apache-2.0
import type { KubeStatus } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { LocationCache, PlacedPod } from '../location/location-cache.js'
import { isMirrorPod, referencesOf } from '../location/references.js'
import { NODE_LEASES } from '../merge/lease.js'
import { metadataOf } from '../merge/tidy.js'
import { KINDS, objectTypeOf } from '../resource/kinds.js'
import { wireResource, type Resource } from '../resource/resource.js'
import type { Handler } from '../route/upstream.js'
import { reporterTrouble } from './event-trouble.js'
import { nodePatchTrouble, podPatchTrouble } from './patch-trouble.js'

/** Whether a node may make a request. A refusal is sent to it. */
export type Right = { readonly ok: true } | { readonly ok: false; readonly refusal: KubeStatus }

/** A request to be authorized. */
export interface Question {
  readonly handler: Handler
  readonly resource: Resource
  /** The object or patch in the message; empty for a query. */
  readonly content: JsonMap
}

const YES: Right = { ok: true }

const kindText = (type: string): string => {
  const object = objectTypeOf(type)
  return object === undefined ? type : KINDS[object].plural
}

const forbidden = ({ resource }: Question, why: string): Right => {
  const { type, name, node } = resource
  const kind = kindText(type)
  const message = `${kind} "${name}" is forbidden: node ${node} may not touch ${wireResource(resource)}: ${why}`
  return {
    ok: false,
    refusal: { status: 403, reason: 'Forbidden', message, details: { name, kind } },
  }
}

/** Refused as not found: the edge then gives the request up. */
const notFound = ({ resource: { type, name } }: Question): Right => {
  const kind = kindText(type)
  const message = `${kind} "${name}" not found`
  return {
    ok: false,
    refusal: { status: 404, reason: 'NotFound', message, details: { name, kind } },
  }
}

const when = (question: Question, trouble: string | undefined): Right =>
  trouble === undefined ? YES : forbidden(question, trouble)

const ownNode = (question: Question): Right => {
  const { name, node } = question.resource
  return when(question, name === node ? undefined : 'it is another node')
}

const nodePatch = (question: Question): Right => {
  const own = ownNode(question)
  return own.ok ? when(question, nodePatchTrouble(question.content)) : own
}

const ownLease = (question: Question): Right => {
  const { namespace, name, node } = question.resource
  return when(
    question,
    namespace === NODE_LEASES && name === node ? undefined : 'it is not its Lease',
  )
}

type PodCheck = (pod: PlacedPod) => string | undefined

/**
 * For requests about one of the node's own pods. An unknown pod may be deleted, or be another node's: both are answered
 * with 404.
 */
const ownPod = (question: Question, locations: LocationCache, check: PodCheck): Right => {
  const { namespace, name, node } = question.resource
  const pod = locations.podNamed(namespace, name)
  if (pod === undefined) return notFound(question)
  return when(question, pod.node === node ? check(pod) : 'it is a pod of another node')
}

/** The second is the first's old name, which the API still reads. */
const ACCOUNTS = ['serviceAccountName', 'serviceAccount'] as const

/** An owner that is a controller would count the pod as one of its own. */
const ownersTrouble = ({ ownerReferences }: JsonMap, node: string): string | undefined => {
  const owners: unknown = ownerReferences ?? []
  const isOwn = (owner: unknown): boolean =>
    isMap(owner) &&
    owner['apiVersion'] === 'v1' &&
    owner['kind'] === 'Node' &&
    owner['name'] === node
  return Array.isArray(owners) && owners.every(isOwn)
    ? undefined
    : 'only its Node may own a mirror pod'
}

const mirrorTrouble = ({ resource, content }: Question): string | undefined => {
  const { namespace, name } = metadataOf(content)
  const spec = isMap(content['spec']) ? content['spec'] : {}
  if (!isMirrorPod(content)) return 'it may create only mirrors of its own static pods'
  if (namespace !== resource.namespace || name !== resource.name) return 'the pod has another name'
  if (spec['nodeName'] !== resource.node) return 'the pod is for another node'
  const unmarked = { ...content, metadata: { ...metadataOf(content), annotations: {} } }
  const [reference] = referencesOf(unmarked)
  if (reference !== undefined)
    return `a mirror pod may not refer to ${reference.type} ${reference.name}`
  const hasAccount = ACCOUNTS.some(key => (spec[key] ?? '') !== '')
  if (hasAccount) return 'a mirror pod may not have a ServiceAccount'
  return ownersTrouble(metadataOf(content), resource.node)
}

/** A token must be bound to one of the node's pods. */
const token = (question: Question, locations: LocationCache): Right => {
  const { resource, content } = question
  const spec = isMap(content['spec']) ? content['spec'] : {}
  const { kind, name, uid }: JsonMap = isMap(spec['boundObjectRef']) ? spec['boundObjectRef'] : {}
  if (kind !== 'Pod') return forbidden(question, 'its boundObjectRef must be a pod')
  const pod = locations.podOf(String(uid))
  const isOwn =
    pod?.node === resource.node && pod.namespace === resource.namespace && pod.name === name
  if (!isOwn) return forbidden(question, 'its boundObjectRef is no pod of this node')
  return when(
    question,
    pod.serviceAccount === resource.name ? undefined : 'the pod runs as another ServiceAccount',
  )
}

const referenced = (question: Question, locations: LocationCache): Right => {
  const { type, namespace, name, node } = question.resource
  const need = locations.needOf(node, type, namespace, name)
  return when(question, need === undefined ? 'no pod of this node refers to it' : undefined)
}

/** Whether only the object itself shows who may read it: see `checkRead`. */
const isJudgedLater = (type: string): boolean =>
  type === 'persistentvolume' || type === 'volumeattachment'

const read = (question: Question, locations: LocationCache): Right => {
  const { type } = question.resource
  if (type === 'node') return ownNode(question)
  return isJudgedLater(type) ? YES : referenced(question, locations)
}

/** The Event that a message is about: a patch of an Event contains it. Nothing else of the message may be created. */
export const eventIn = (content: JsonMap): JsonMap =>
  isMap(content['event']) ? content['event'] : content

/** A node may report Events about itself and its pods. */
const event = (question: Question, locations: LocationCache): Right => {
  const { content, resource } = question
  const whole = eventIn(content)
  const trouble = reporterTrouble(whole, resource.node)
  if (trouble !== undefined) return forbidden(question, trouble)
  const { kind, namespace, name }: JsonMap = isMap(whole['involvedObject'])
    ? whole['involvedObject']
    : {}
  if (kind === 'Node')
    return when(question, name === resource.node ? undefined : 'it is about another node')
  const pod = kind === 'Pod' ? locations.podNamed(String(namespace), String(name)) : undefined
  const isOwn = pod?.node === resource.node && pod.namespace === resource.namespace
  return when(question, isOwn ? undefined : 'it is about no pod of this node')
}

type Check = (question: Question, locations: LocationCache) => Right

const always: Check = () => YES
const never: Check = question => forbidden(question, 'the bridge does not do this for nodes')

const CHECKS: Readonly<Record<Handler, Check>> = {
  application: never,
  'cluster-ca': always,
  'create-lease': ownLease,
  'create-node': ownNode,
  'create-pod': question => when(question, mirrorTrouble(question)),
  'create-token': token,
  'delete-pod': (question, locations) => ownPod(question, locations, () => undefined),
  membership: always,
  'patch-node-status': nodePatch,
  'patch-pod-status': (question, locations) =>
    ownPod(question, locations, ({ uid }) => podPatchTrouble(question.content, uid)),
  'read-lease': ownLease,
  'read-object': read,
  refuse: never,
  'sync-watches': never,
  'update-lease': ownLease,
  'update-node': ownNode,
  'write-event': event,
}

/**
 * Whether this node may make this request. It may touch itself, its Lease, its pods, and what its pods refer to. What the
 * message says about its sender is ignored: the connection says which node it is, and the cluster says where pods are.
 */
export const checkRight = (question: Question, locations: LocationCache): Right =>
  CHECKS[question.handler](question, locations)

/**
 * Whether this node may have the object that it asked to read, for kinds whose names do not tell: a volume belongs to the
 * node whose pod claims it, an attachment to the node that it names.
 */
export const checkRead = (question: Question, object: JsonMap, locations: LocationCache): Right => {
  const { type, node } = question.resource
  if (!isJudgedLater(type)) return YES
  const spec = isMap(object['spec']) ? object['spec'] : {}
  if (type === 'volumeattachment')
    return when(question, spec['nodeName'] === node ? undefined : 'it is for another node')
  const { namespace, name }: JsonMap = isMap(spec['claimRef']) ? spec['claimRef'] : {}
  const need = locations.needOf(node, 'persistentvolumeclaim', String(namespace), String(name))
  return when(question, need === undefined ? 'no pod of this node claims it' : undefined)
}
