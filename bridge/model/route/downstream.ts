// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../../core/json.js'
import { EDGE_CONTROLLER, RESOURCE_GROUP, type Message, type Stamp } from '../message/message.js'
import { KINDS } from '../resource/kinds.js'
import { wireResource, type Resource } from '../resource/resource.js'

/** What the bridge sends to edges unasked. */
export type DownstreamType = 'configmap' | 'node' | 'pod' | 'secret'

/** An object that is sent to an edge. */
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
 * The object as it is now. Never `insert`: an edge that has a row of that name already says OK to an insert and keeps the
 * old one, as SQLite refuses a second one; an update stores and starts what is new as well as what it knows.
 * @param object Whole, with `apiVersion` and `kind`: an edge panics without them.
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
 * The object is gone. The uid says which, since another one of its name may be there already. An edge stops a pod only
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
