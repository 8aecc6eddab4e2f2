// SPDX-License-Identifier: Apache-2.0
import { isMap, setKey, type JsonMap } from '../../../core/json.js'
import type { NodeName } from '../../../core/ids.js'
import { PEER_HEALTH } from '../../../core/marks.js'
import { KINDS } from '../resource/kinds.js'
import { isOwnAnnotation, isOwnLabel } from '../right/patch-trouble.js'
import { metadataOf } from './tidy.js'

/** The text values of a map whose keys are allowed. */
const allowed = (value: unknown, isAllowed: (key: string) => boolean): JsonMap => {
  const kept: JsonMap = {}
  for (const [key, text] of Object.entries(isMap(value) ? value : {}))
    if (typeof text === 'string' && isAllowed(key)) setKey(kept, key, text)
  return kept
}

/** The metadata that a node may set on itself. */
const ownMetadata = (
  asked: JsonMap,
): { readonly labels: JsonMap; readonly annotations: JsonMap } => {
  const { labels, annotations } = metadataOf(asked)
  return {
    labels: allowed(labels, isOwnLabel),
    annotations: allowed(annotations, isOwnAnnotation),
  }
}

/** The status that a node may set: conditions written by its peers are left out. */
const ownStatus = (asked: JsonMap): JsonMap => {
  const status = isMap(asked['status']) ? asked['status'] : {}
  const { conditions } = status
  const own = Array.isArray(conditions)
    ? { conditions: conditions.filter(item => isMap(item) && item['type'] !== PEER_HEALTH) }
    : {}
  return { ...status, ...own }
}

/** The Node that is created when an edge registers, from those fields of its request that a node may set. */
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
 * A merge patch that adds an edge's labels and annotations to its Node; it removes nothing. Undefined when there is nothing
 * to change.
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
