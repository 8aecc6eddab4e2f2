// SPDX-License-Identifier: Apache-2.0
import { isMap, setKey, type JsonMap } from '../../../core/json.js'
import type { NodeName } from '../../../core/ids.js'
import { PEER_HEALTH } from '../../../core/marks.js'
import { KINDS } from '../resource/kinds.js'
import { isOwnAnnotation, isOwnLabel } from '../right/patch-trouble.js'
import { metadataOf } from './tidy.js'

/** The texts of a map whose keys are allowed. */
const allowed = (value: unknown, isAllowed: (key: string) => boolean): JsonMap => {
  const kept: JsonMap = {}
  for (const [key, text] of Object.entries(isMap(value) ? value : {}))
    if (typeof text === 'string' && isAllowed(key)) setKey(kept, key, text)
  return kept
}

/** What a node may say of itself in its metadata. */
const ownMetadata = (
  asked: JsonMap,
): { readonly labels: JsonMap; readonly annotations: JsonMap } => {
  const { labels, annotations } = metadataOf(asked)
  return {
    labels: allowed(labels, isOwnLabel),
    annotations: allowed(annotations, isOwnAnnotation),
  }
}

/** Conditions are kept but for what peers say. */
const ownStatus = (asked: JsonMap): JsonMap => {
  const status = isMap(asked['status']) ? asked['status'] : {}
  const { conditions } = status
  const own = Array.isArray(conditions)
    ? { conditions: conditions.filter(item => isMap(item) && item['type'] !== PEER_HEALTH) }
    : {}
  return { ...status, ...own }
}

/** The Node that is made for an edge that registers: of what it sent, what a node may say of itself. */
export const nodeToCreate = (asked: JsonMap, node: NodeName): JsonMap => {
  const { apiVersion, kind } = KINDS.node
  const { taints }: JsonMap = isMap(asked['spec']) ? asked['spec'] : {}
  return {
    apiVersion,
    kind,
    metadata: { name: node, ...ownMetadata(asked) },
    spec: Array.isArray(taints) ? { taints } : {},
    status: ownStatus(asked),
  }
}

const changed = (live: unknown, asked: JsonMap): JsonMap => {
  const now = isMap(live) ? live : {}
  const found: JsonMap = {}
  for (const [key, value] of Object.entries(asked))
    if (!Object.hasOwn(now, key) || now[key] !== value) setKey(found, key, value)
  return found
}

/**
 * The merge patch that puts an edge's labels and annotations over those that its Node has; nothing is ever taken off.
 * Undefined: there is nothing to change.
 */
export const nodeUpdatePatch = (live: JsonMap, asked: JsonMap): JsonMap | undefined => {
  const own = ownMetadata(asked)
  const now = metadataOf(live)
  const labels = changed(now['labels'], own.labels)
  const annotations = changed(now['annotations'], own.annotations)
  const metadata = {
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  }
  return Object.keys(metadata).length === 0 ? undefined : { metadata }
}
