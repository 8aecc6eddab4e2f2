// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import { mapAt, textAt } from '../../../core/json-at.js'
import { metadataOf } from '../merge/tidy.js'
import { RESOURCE_GROUP, type Message, type Stamp } from '../message/message.js'
import { KINDS } from '../resource/kinds.js'
import { wireResource } from '../resource/resource.js'

/** Kinds of objects that agents watch. */
export type WatchedType = 'configmap' | 'node' | 'secret'

const TYPES: Readonly<Record<string, WatchedType>> = {
  configmaps: 'configmap',
  nodes: 'node',
  secrets: 'secret',
}

/** The type in KubeEdge's resource strings for a plural that agents watch. */
export const watchedType = (resource: string): WatchedType => TYPES[resource]!

/** A deleted object, as far as it is known. */
export interface Gone {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly labels: ReadonlyMap<string, string>
}

const word = (
  { id, at }: Stamp,
  of: {
    readonly node: NodeName
    readonly type: WatchedType
    readonly gone: Pick<Gone, 'name' | 'namespace'>
  },
  more: Pick<Message, 'content' | 'operation' | 'resourceVersion'>,
): Message => ({
  ...{ id, parentId: undefined, timestamp: at },
  ...{ source: 'dynamiccontroller', group: RESOURCE_GROUP },
  resource: wireResource({ type: of.type, namespace: of.gone.namespace, name: of.gone.name }),
  ...more,
})

/**
 * The message with an object's present state for a watch. Never `insert`: an edge that already has the object would keep
 * the old state.
 */
export const watchUpdate = (
  stamp: Stamp,
  of: { readonly node: NodeName; readonly type: WatchedType },
  object: JsonMap,
): Message => {
  const metadata = metadataOf(object)
  return word(
    stamp,
    { ...of, gone: { namespace: textAt(metadata, 'namespace'), name: textAt(metadata, 'name') } },
    {
      operation: 'update',
      resourceVersion: textAt(metadata, 'resourceVersion'),
      content: object,
    },
  )
}

const numberOf = (version: unknown): bigint =>
  typeof version === 'string' && /^\d{1,30}$/.test(version) ? BigInt(version) : 0n

/** MetaServer shows a watch only versions newer than the one that follows the newest that it kept when the watch began. */
const STEP = 2n

/**
 * The object before its labels changed, in a version so much older that a watch which begins when the edge has got this one
 * is shown the present one.
 */
export const formerly = (object: JsonMap, labels: Gone['labels']): JsonMap => {
  const metadata = metadataOf(object)
  const version = numberOf(metadata['resourceVersion'])
  const resourceVersion = version > STEP ? String(version - STEP) : metadata['resourceVersion']
  return {
    ...object,
    metadata: { ...metadata, resourceVersion, labels: Object.fromEntries(labels) },
  }
}

/**
 * The message that an object was deleted, for a watch. The edge forwards only versions newer than its watch, so this
 * carries the newest known version of the kind, and only what the watch selects, so it carries the labels as well.
 */
export const watchDelete = (
  stamp: Stamp,
  of: { readonly node: NodeName; readonly type: WatchedType },
  { namespace, name, uid, labels }: Gone,
  resourceVersion: string,
): Message => {
  const { apiVersion, kind } = KINDS[of.type]
  const place = namespace === '' ? {} : { namespace }
  const metadata = { name, ...place, uid, resourceVersion, labels: Object.fromEntries(labels) }
  const content = { apiVersion, kind, metadata }
  return word(
    stamp,
    { ...of, gone: { namespace, name } },
    { operation: 'delete', resourceVersion, content },
  )
}

/** Whether an object of this version may be new to a watch that began at `start`; true where either is not a number. */
export const isNewerThan = (version: unknown, start: string): boolean =>
  numberOf(start) === 0n || numberOf(version) > numberOf(start) || numberOf(version) === 0n

export const labelsOf = (object: JsonMap): ReadonlyMap<string, string> => {
  return new Map(
    Object.entries(mapAt(object, 'metadata', 'labels')).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  )
}
