// SPDX-License-Identifier: Apache-2.0
import type { KubeStatus } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import {
  PEER_HEALTH,
  REASON_ANNOTATION,
  UNHEALTHY_ANNOTATION,
  VOUCHED_LABEL,
} from '../../../core/marks.js'
import type { LocationCache, PlacedPod } from '../location/location-cache.js'
import { NODE_LEASES } from '../merge/lease.js'
import { strangerIn } from '../right/patch-trouble.js'
import type { Right } from '../right/right.js'
import type { Application, Target } from './application.js'
import { fieldTrouble, type Field } from './patch-fields.js'

/** The node that asks, and the namespace of its agent. */
export interface Asker {
  readonly node: NodeName
  /** Namespace of the agents' Pods, ConfigMaps and keys. */
  readonly namespace: string
}

/** The agents' ServiceAccount, in their namespace; also their name in `managedFields` and Events. */
export const AGENT = 'edge-health-agent'

/** What agents may read in their namespace, by name. */
const READ_BY_NAME: Readonly<Record<string, ReadonlySet<string>>> = {
  configmaps: new Set(['edge-health-zone-config', 'edge-health-config', 'hmac-config']),
  secrets: new Set(['edge-health-keys']),
}

const IDENTITY_ANNOTATION = 'edge-health/identity'
const EVENT_NAMESPACE = 'default'
/** Node names are truncated to this length in Events. */
const MAX_INSTANCE = 128

const VERSION: Field = ['metadata', 'resourceVersion']
const annotation = (name: string): Field => ['metadata', 'annotations', name]
const OWN_NODE: readonly Field[] = [VERSION, annotation(IDENTITY_ANNOTATION)]
const MARKS: readonly Field[] = [
  VERSION,
  annotation(UNHEALTHY_ANNOTATION),
  annotation(REASON_ANNOTATION),
  ['metadata', 'labels', VOUCHED_LABEL],
]
const OTHER_NODE: readonly Field[] = [...MARKS, ['spec', 'taints']]
const OTHER_STATUS: readonly Field[] = [...MARKS, ['status', 'conditions']]
const LEASE: readonly Field[] = [VERSION, ['spec', 'renewTime']]

/** A resource's name in refusals: `leases.coordination.k8s.io`. */
const kindOf = ({ group, resource }: Target): string =>
  group === '' ? resource : `${resource}.${group}`

const NOBODY = 'agents do not do this'

type Patch = Extract<Application['ask'], { readonly verb: 'patch' }>

/**
 * Only a strategic merge patches conditions by their type: other patches replace the whole list, or address items by index.
 */
const conditionTrouble = ({ type, value }: Patch): string | undefined => {
  const status = isMap(value) && isMap(value['status']) ? value['status'] : {}
  const { conditions = [] } = status
  if (type !== 'strategic-merge' || !Array.isArray(conditions))
    return 'it must be a strategic merge of conditions'
  const items: readonly unknown[] = conditions
  const isTheirs = items.every(
    item => isMap(item) && (item['type'] === PEER_HEALTH || item['type'] === 'Ready'),
  )
  return isTheirs ? undefined : `agents report the conditions ${PEER_HEALTH} and Ready only`
}

const nodePatchTrouble = (target: Target, ask: Patch, { node }: Asker): string | undefined => {
  const { subresource } = ask
  if (target.name === node)
    return subresource === ''
      ? fieldTrouble(ask, OWN_NODE)
      : 'only the edge itself reports the status of its own Node'
  if (subresource === '') return fieldTrouble(ask, OTHER_NODE)
  return subresource === 'status'
    ? (fieldTrouble(ask, OTHER_STATUS) ?? conditionTrouble(ask))
    : NOBODY
}

const nodeTrouble = (target: Target, ask: Application['ask'], asker: Asker): string | undefined => {
  if (target.namespace !== '') return 'Nodes are in no namespace'
  if (ask.verb === 'patch') return nodePatchTrouble(target, ask, asker)
  return ask.verb === 'create' ? NOBODY : undefined
}

/**
 * The request by which an agent tests its cloud link is passed on too. Where agents have no right to that Lease, the
 * apiserver's refusal is the sign of life.
 */
const signTrouble = (
  { name }: Target,
  ask: Application['ask'],
  { node }: Asker,
): string | undefined => {
  const { verb } = ask
  const asked = verb === 'create' ? nameIn(ask.body) : name
  const isOwn = asked === `edge-health-${node}` && (verb === 'create' || verb === 'patch')
  return isOwn ? undefined : 'it is not its own Lease'
}

const leaseTrouble = (
  target: Target,
  ask: Application['ask'],
  asker: Asker,
): string | undefined => {
  const { namespace, name } = target
  const { verb } = ask
  if (verb === 'patch' && ask.subresource !== '') return NOBODY
  if (namespace === asker.namespace) return signTrouble(target, ask, asker)
  if (namespace !== NODE_LEASES || !(verb === 'get' || verb === 'patch')) return NOBODY
  if (verb === 'get') return undefined
  if (name === asker.node) return 'only the edge itself renews the Lease of its own node'
  return fieldTrouble(ask, LEASE)
}

const nameIn = (body: JsonMap): unknown =>
  isMap(body['metadata']) ? body['metadata']['name'] : undefined

const readTrouble = (target: Target, ask: Application['ask'], asker: Asker): string | undefined => {
  const { resource, namespace, name } = target
  const isRead = ask.verb === 'list' || ask.verb === 'watch'
  if (!isRead || namespace !== asker.namespace) return NOBODY
  return READ_BY_NAME[resource]!.has(name) ? undefined : 'agents read others of this kind by name'
}

/** Fields that agents set in Events; another one could name a different reporter. */
const EVENT_FIELDS: ReadonlySet<string> = new Set([
  ...['action', 'apiVersion', 'eventTime', 'kind', 'metadata', 'note', 'reason'],
  ...['regarding', 'reportingController', 'reportingInstance', 'type'],
])
const EVENT_METADATA: ReadonlySet<string> = new Set(['name', 'namespace'])

const eventTrouble = (
  { namespace }: Target,
  ask: Application['ask'],
  { node }: Asker,
): string | undefined => {
  if (ask.verb !== 'create' || namespace !== EVENT_NAMESPACE) return NOBODY
  const { regarding, reportingController, reportingInstance } = ask.body
  if (!isMap(regarding) || regarding['kind'] !== 'Node') return 'it must be about a Node'
  const isOwn = reportingController === AGENT && reportingInstance === node.slice(0, MAX_INSTANCE)
  if (!isOwn) return 'it must be reported by its own agent'
  const { metadata } = ask.body
  const field =
    strangerIn(ask.body, EVENT_FIELDS) ??
    (isMap(metadata) ? strangerIn(metadata, EVENT_METADATA) : undefined)
  return field === undefined ? undefined : `agents do not set ${field.slice(0, 40)} in Events`
}

type Check = (target: Target, ask: Application['ask'], asker: Asker) => string | undefined

/** By group, version and resource. */
const CHECKS: Readonly<Record<string, Check>> = {
  ' v1 configmaps': readTrouble,
  ' v1 nodes': nodeTrouble,
  ' v1 secrets': readTrouble,
  'coordination.k8s.io v1 leases': leaseTrouble,
  'events.k8s.io v1 events': eventTrouble,
}

const forbidden = ({ target, ask }: Application, node: NodeName, why: string): KubeStatus => {
  const { name } = target
  const kind = kindOf(target)
  const message = `${kind} "${name}" is forbidden: an agent on node ${node} may not ${ask.verb} it: ${why}`
  return { status: 403, reason: 'Forbidden', message, details: { name, kind } }
}

/** The agent's Pod on a node, as the cluster has it; undefined when there is none. */
export const agentPodOf = (
  locations: Pick<LocationCache, 'podsOf'>,
  { node, namespace }: Asker,
): PlacedPod | undefined =>
  locations
    .podsOf(node)
    .filter(pod => pod.namespace === namespace && pod.serviceAccount === AGENT)
    .at(-1)

/**
 * Whether the agent of this node may make this request. Checks what the agents' RBAC and admission policies allow, before
 * the apiserver does: the own Node's identity, marks of other Nodes, renewal times of their Leases, Events of its own, and
 * what agents read.
 */
export const agentRight = (application: Application, asker: Asker): Right => {
  const { target, ask } = application
  const { group, version, resource } = target
  const key = `${group} ${version} ${resource}`
  const check = Object.hasOwn(CHECKS, key) ? CHECKS[key] : undefined
  const trouble = check === undefined ? NOBODY : check(target, ask, asker)
  return trouble === undefined
    ? { ok: true }
    : { ok: false, refusal: forbidden(application, asker.node, trouble) }
}

/** The refusal for a node on which no agent runs. */
export const withoutAgent = (application: Application, { node, namespace }: Asker): KubeStatus =>
  forbidden(
    application,
    node,
    `no Pod of the ServiceAccount ${AGENT} in ${namespace} is on this node`,
  )
