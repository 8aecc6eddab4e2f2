// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../../core/json.js'
import { EDGE_CONTROLLER, RESOURCE_GROUP, type Message, type Stamp } from '../message/message.js'
import { KINDS } from '../resource/kinds.js'
import { wireResource, type Resource } from '../resource/resource.js'

/** What the bridge tells edges of unasked. */
export type DownstreamType = 'configmap' | 'node' | 'pod' | 'secret'

/** What happened to an object. */
export type ObjectEvent = 'added' | 'modified' | 'deleted'

/**
 * What an edge is told of an event. Never `insert`: an edge that has a row of that name already says OK to an insert and
 * keeps the old one, as SQLite refuses a second one; an update stores and starts what is new as well as what it knows.
 */
export const OPERATION_OF: Readonly<Record<ObjectEvent, 'delete' | 'update'>> = {
  added: 'update',
  modified: 'update',
  deleted: 'delete',
}

/** An object that an edge is told about. */
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
 * The object as it is now.
 * @param object Whole, with `apiVersion` and `kind`: an edge panics without them.
 */
export const updateMessage = (
  resource: DownstreamResource,
  stamp: Stamp,
  object: JsonMap,
): Message => {
  const { resourceVersion }: JsonMap = isMap(object['metadata']) ? object['metadata'] : {}
  return message(resource, stamp, {
    operation: OPERATION_OF.modified,
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
    operation: OPERATION_OF.deleted,
    resourceVersion: undefined,
    content: {
      ...{ apiVersion, kind },
      metadata: { ...(namespace === '' ? {} : { namespace }), name, uid },
      ...(type === 'pod' ? { spec: { nodeName: node } } : {}),
    },
  })
}

const NEEDS_ACK: ReadonlySet<string> = new Set(['delete', 'insert', 'update'])

/**
 * Must it be sent again until the edge says OK? What the bridge tells of objects must; who waits for a reply asks
 * again when it is lost.
 */
export const needsAck = ({ source, operation, parentId }: Message): boolean =>
  source === EDGE_CONTROLLER && parentId === undefined && NEEDS_ACK.has(operation)
