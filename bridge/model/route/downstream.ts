// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../../core/json.js'
import { EDGE_CONTROLLER, RESOURCE_GROUP, type Message, type Stamp } from '../message/message.js'
import { KINDS } from '../resource/kinds.js'
import { wireResource, type Resource } from '../resource/resource.js'

/** Kinds of objects that the bridge keeps in sync on edges. */
export type DownstreamType = 'configmap' | 'node' | 'pod' | 'secret'

/** An object for one edge. */
export interface DownstreamResource extends Resource {
  readonly type: DownstreamType
}

const message = (
  resource: DownstreamResource,
  { id, at }: Stamp,
  more: Pick<Message, 'content' | 'operation' | 'resourceVersion'>,
): Message => ({
  id,
  parentId: undefined,
  timestamp: at,
  source: EDGE_CONTROLLER,
  group: RESOURCE_GROUP,
  resource: wireResource(resource),
  ...more,
})

/**
 * The message with an object's present state. Never `insert`: an edge that has an object of that name acknowledges an
 * insert and keeps the old one, since SQLite refuses a second row. An update stores new objects as well.
 * @param object complete, with `apiVersion` and `kind`, without which an edge panics
 */
export const updateMessage = (
  resource: DownstreamResource,
  stamp: Stamp,
  object: JsonMap,
): Message => {
  const { resourceVersion }: JsonMap = isMap(object['metadata']) ? object['metadata'] : {}
  return message(resource, stamp, {
    operation: 'update',
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : undefined,
    content: object,
  })
}

/**
 * The message that an object was deleted. The uid tells it from another object with the same name. An edge stops a pod only
 * if the message says that it ran there.
 */
export const deleteMessage = (resource: DownstreamResource, stamp: Stamp, uid: string): Message => {
  const { type, namespace, name, node } = resource
  const { apiVersion, kind } = KINDS[type]
  return message(resource, stamp, {
    operation: 'delete',
    resourceVersion: undefined,
    content: {
      ...{ apiVersion, kind },
      metadata: { ...(namespace === '' ? {} : { namespace }), name, uid },
      ...(type === 'pod' ? { spec: { nodeName: node } } : {}),
    },
  })
}
