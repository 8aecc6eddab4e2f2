// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { canonicalAddress } from '../../core/address.js'
import { parseNodeName } from '../../core/ids.js'
import type { NodeCondition, NodeView, Taint } from '../../core/node.js'
import { texts } from '../../core/map-schema.js'
import { parseWith } from '../../core/parse.js'
import { TableRow } from '../../kube/client/table-codec.js'
import type { MemberView, NodeNotes } from '../ports/kube-api.js'
import { isReadAnnotation, isReadCondition, OWN_PREFIX, PEER_HEALTH } from '../../core/marks.js'

const taintSchema = v.object({
  key: v.string(),
  value: v.optional(v.string()),
  effect: v.picklist(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
  timeAdded: v.nullish(v.string()),
})

const conditionSchema = v.object({
  type: v.string(),
  status: v.string(),
  reason: v.optional(v.string()),
  message: v.optional(v.string()),
  lastTransitionTime: v.nullish(v.string()),
  lastHeartbeatTime: v.nullish(v.string()),
})

const nodeSchema = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    labels: v.nullish(texts, {}),
    annotations: v.nullish(texts, {}),
  }),
  spec: v.optional(
    v.object({
      taints: v.nullish(v.array(taintSchema), []),
      unschedulable: v.nullish(v.boolean(), false),
    }),
    { taints: [], unschedulable: false },
  ),
  status: v.optional(
    v.object({
      addresses: v.nullish(v.array(v.object({ type: v.string(), address: v.string() })), []),
      conditions: v.nullish(v.array(conditionSchema), []),
    }),
    { addresses: [], conditions: [] },
  ),
})

const keptAnnotations = (all: Readonly<Record<string, string>>): Record<string, string> => {
  const kept: Record<string, string> = {}
  for (const key in all) if (isReadAnnotation(key)) kept[key] = all[key]!
  return kept
}

const notesSchema = v.object({
  metadata: v.object({
    name: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    annotations: v.nullish(texts, {}),
  }),
})

/** @throws InvalidInputError when the metadata of a Node is not what the API promises. */
export const parseNodeNotes = (raw: unknown): NodeNotes => {
  const { annotations, ...known } = parseWith(notesSchema, 'Node', raw).metadata
  const own = Object.entries(annotations).filter(([key]) => key.startsWith(OWN_PREFIX))
  return Object.freeze({ ...known, annotations: Object.freeze(Object.fromEntries(own)) })
}

const taintOf = (raw: v.InferOutput<typeof taintSchema>): Taint =>
  Object.freeze({
    key: raw.key,
    effect: raw.effect,
    ...(raw.value === undefined ? {} : { value: raw.value }),
    ...(typeof raw.timeAdded === 'string' ? { timeAdded: raw.timeAdded } : {}),
  })

/** The API server takes any text as a status; what is neither True nor False is Unknown to us. */
const statusOf = (text: string): NodeCondition['status'] =>
  text === 'True' || text === 'False' ? text : 'Unknown'

const conditionOf = (raw: v.InferOutput<typeof conditionSchema>): NodeCondition =>
  Object.freeze({
    type: raw.type,
    status: statusOf(raw.status),
    ...(raw.reason === undefined ? {} : { reason: raw.reason }),
    ...(raw.message === undefined ? {} : { message: raw.message }),
    ...(typeof raw.lastTransitionTime === 'string'
      ? { lastTransitionTime: raw.lastTransitionTime }
      : {}),
    // A kubelet's heartbeat moves all the time; nobody looks at it.
    ...(raw.type === PEER_HEALTH && typeof raw.lastHeartbeatTime === 'string'
      ? { lastHeartbeatTime: raw.lastHeartbeatTime }
      : {}),
  })

/**
 * A Node of the API, cut down and frozen. What is left out can be collected: a kubelet's Node is ten times as large.
 * @throws InvalidInputError when a field that we use is not what the API promises.
 */
export const parseNodeView = (raw: unknown): NodeView => {
  const { metadata, spec, status } = parseWith(nodeSchema, 'Node', raw)
  const internalIPs = status.addresses
    .filter(({ type }) => type === 'InternalIP')
    .flatMap(({ address }) => canonicalAddress(address) ?? [])
  const conditions = status.conditions.filter(({ type }) => isReadCondition(type))
  return Object.freeze({
    name: parseNodeName(metadata.name),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    labels: Object.freeze(metadata.labels),
    annotations: Object.freeze(keptAnnotations(metadata.annotations)),
    taints: Object.freeze(spec.taints.map(taintOf)),
    internalIPs: Object.freeze(internalIPs),
    conditions: Object.freeze(conditions.map(conditionOf)),
    ...(spec.unschedulable ? { isCordoned: true } : {}),
  })
}

/**
 * A Node as a row of `kubectl get -o wide`, or whole from a server that makes no Tables.
 * @throws InvalidInputError as `parseNodeView`, and for a Table without the column.
 */
export const parseMember = (raw: unknown): MemberView => {
  if (raw instanceof TableRow)
    return Object.freeze({
      name: parseNodeName(raw.name),
      // `<none>` is no address.
      address: canonicalAddress(raw.text('Internal-IP')),
    })
  const { name, internalIPs } = parseNodeView(raw)
  return Object.freeze({ name, address: internalIPs[0] })
}
