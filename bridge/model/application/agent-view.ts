// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import type { NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { mapAt } from '../../../core/json-at.js'
import { isReadAnnotation, isReadCondition, PEER_HEALTH } from '../../../core/marks.js'
import { metadataOf, tidyObject } from '../merge/tidy.js'
import { KINDS } from '../resource/kinds.js'
import type { Target } from './application.js'

const pick = (map: JsonMap, keys: readonly string[]): JsonMap =>
  Object.fromEntries(keys.flatMap(key => (map[key] === undefined ? [] : [[key, map[key]]])))

const METADATA = ['name', 'uid', 'resourceVersion', 'creationTimestamp', 'labels'] as const

const conditionsOf = (status: JsonMap): readonly unknown[] => {
  const { conditions } = status
  const items: readonly unknown[] = Array.isArray(conditions) ? conditions : []
  return items.filter(item => isMap(item) && isReadCondition(item['type']))
}

/** The fields of another node's Node that agents read: a tenth of it, and nothing about what runs there. */
const otherNode = (node: JsonMap): JsonMap => {
  const metadata = metadataOf(node)
  const status = mapAt(node, 'status')
  const notes = Object.entries(mapAt(metadata, 'annotations')).filter(([key]) =>
    isReadAnnotation(key),
  )
  return {
    ...{ apiVersion: KINDS.node.apiVersion, kind: KINDS.node.kind },
    metadata: { ...pick(metadata, METADATA), annotations: Object.fromEntries(notes) },
    spec: pick(mapAt(node, 'spec'), ['taints', 'unschedulable']),
    status: { ...pick(status, ['addresses']), conditions: conditionsOf(status) },
  }
}

/**
 * An object in the form that a node's agent is sent. A Lease keeps its `managedFields`, which show agents who renewed it.
 */
export const agentView = (
  { resource }: Pick<Target, 'resource'>,
  object: JsonMap,
  node: NodeName,
): JsonMap => {
  switch (resource) {
    case 'nodes':
      return metadataOf(object)['name'] === node ? tidyObject('node', object) : otherNode(object)
    case 'configmaps':
      return tidyObject('configmap', object)
    case 'secrets':
      return tidyObject('secret', object)
    default:
      return object
  }
}

/**
 * A heartbeat in a condition only shows that the kubelet runs, which peers find out themselves; that of the peers' own
 * condition is kept.
 */
const withoutHeartbeat = (condition: unknown): unknown =>
  isMap(condition) && condition['type'] !== PEER_HEALTH
    ? { ...condition, lastHeartbeatTime: undefined }
    : condition

/** What of another node's Node agents must be sent when it changes, as text. @param view as made by `agentView` */
export const newsOf = (view: JsonMap): string => {
  const metadata = { ...metadataOf(view), resourceVersion: undefined }
  const status = mapAt(view, 'status')
  const { conditions } = status
  const items: readonly unknown[] = Array.isArray(conditions) ? conditions : []
  return writeExactJson([
    metadata,
    view['spec'],
    { ...status, conditions: items.map(withoutHeartbeat) },
    view['data'],
  ])
}

/** A list as the Kubernetes API encodes it. */
export const listBody = (
  { resource, group, version }: Target,
  items: readonly JsonMap[],
  { resourceVersion, next }: { readonly resourceVersion: string; readonly next: string },
): JsonMap => ({
  apiVersion: group === '' ? version : `${group}/${version}`,
  kind: LIST_KINDS[resource] ?? 'List',
  metadata: { resourceVersion, ...(next === '' ? {} : { continue: next }) },
  items,
})

const LIST_KINDS: Readonly<Record<string, string>> = {
  configmaps: 'ConfigMapList',
  nodes: 'NodeList',
  secrets: 'SecretList',
}
