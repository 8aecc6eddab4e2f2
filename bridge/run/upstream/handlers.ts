// SPDX-License-Identifier: Apache-2.0
import { isNotFound } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { leaseToWrite, NODE_LEASES } from '../../model/merge/lease.js'
import { nodeToCreate, nodeUpdatePatch } from '../../model/merge/node.js'
import { emptyObject, tidyObject } from '../../model/merge/tidy.js'
import { contentPatch } from '../../model/message/content.js'
import { objectTypeOf } from '../../model/resource/kinds.js'
import { objectKey } from '../../model/resource/resource.js'
import { checkRead, checkRight } from '../../model/right/right.js'
import type { Handler } from '../../model/route/upstream.js'
import { statusOf } from '../../../kube/client/resource.js'
import { passOn, syncWatches } from './applications.js'
import { refused, type Call, type Result } from './call.js'
import { writeEvent } from './events.js'
import { objectNameOf, objectsOf } from './objects.js'
import { createPod, deletePod, patchPodStatus } from './pods.js'
import { createToken } from './tokens.js'

type Handle = (call: Call) => Promise<Result>

const object = (type: Parameters<typeof tidyObject>[0], found: JsonMap): Result => ({
  kind: 'object',
  object: tidyObject(type, found),
})

/** Run the handler if the node has the right. */
const ifAllowed =
  (handle: Handle): Handle =>
  async call => {
    const right = checkRight(call, call.locations)
    return right.ok ? handle(call) : { kind: 'refused', refusal: right.refusal }
  }

const createNode: Handle = async ({ client, node, content, guard, signal }) => {
  const body = nodeToCreate(content, node)
  return object('node', await client.create(objectsOf('node'), {}, { body, guard }, signal))
}

const updateNode: Handle = async ({ client, node, content, guard, signal }) => {
  const live = await client.get(objectsOf('node'), { name: node }, signal)
  const body = nodeUpdatePatch(live, content)
  if (body === undefined) return { kind: 'done' }
  const write = { patch: { type: 'merge', body }, guard } as const
  await client.patch(objectsOf('node'), { name: node }, write, signal)
  return { kind: 'done' }
}

const patchNodeStatus: Handle = async ({ client, node, message, guard, signal }) => {
  const text = contentPatch('patch of a Node', message.content)
  const write = { patch: { type: 'strategic-merge', text }, guard } as const
  const found = await client.patch(statusOf(objectsOf('node')), { name: node }, write, signal)
  return object('node', found)
}

const leaseResult = ({ downstream, node }: Call, lease: JsonMap): Result => {
  downstream.leaseSeen(node, lease)
  return object('lease', lease)
}

const readLease: Handle = async call => {
  const { client, resource, signal } = call
  return leaseResult(call, await client.get(objectsOf('lease'), objectNameOf(resource), signal))
}

/** Write a Lease with the time at which the edge's renewal arrived. */
const writeLease =
  (method: 'create' | 'update'): Handle =>
  async call => {
    const { client, node, content, servedAt, guard, signal } = call
    if (servedAt === undefined)
      return refused(503, 'ServiceUnavailable', "the apiserver's clock is not known yet")
    const write = { body: leaseToWrite(content, node, servedAt), guard }
    const place = { namespace: NODE_LEASES }
    const lease =
      method === 'create'
        ? await client.create(objectsOf('lease'), place, write, signal)
        : await client.update(objectsOf('lease'), { ...place, name: node }, write, signal)
    return leaseResult(call, lease)
  }

/**
 * Read an object. A missing one is an error, so that the edge asks again; but if all of the node's pods start without it,
 * the answer is an empty object, since an error would keep them from starting.
 */
const readObject: Handle = async call => {
  const { client, reads, resource, locations, node, signal } = call
  const type = objectTypeOf(resource.type)!
  try {
    const get = () => client.get(objectsOf(type), objectNameOf(resource), signal)
    const found = await reads.get(objectKey(resource), get)
    // The read may have taken a while, and the pod that refers to the object may be gone.
    const now = checkRight(call, locations)
    const right = now.ok ? checkRead(call, found, locations) : now
    return right.ok ? object(type, found) : { kind: 'refused', refusal: right.refusal }
  } catch (error) {
    const { namespace, name } = resource
    const isOptional = locations.needOf(node, type, namespace, name) === 'optional'
    if (!isNotFound(error) || !isOptional) throw error
    return { kind: 'object', object: emptyObject(type, resource) }
  }
}

/** The ConfigMap with the cluster's own certificate authority, which exists in every namespace. */
const ROOT_CA = { namespace: 'kube-system', name: 'kube-root-ca.crt' }

const clusterCa: Handle = async ({ client, signal }) => {
  const { data } = await client.get(objectsOf('configmap'), ROOT_CA, signal)
  const text = isMap(data) ? data['ca.crt'] : undefined
  if (typeof text === 'string') return { kind: 'text', text }
  return refused(404, 'NotFound', 'the cluster does not say who signs its certificates')
}

const never: Handle = () =>
  Promise.resolve(refused(403, 'Forbidden', 'the bridge does not do this for nodes'))

/** Handlers whose messages contain an object. */
export const WITH_CONTENT: ReadonlySet<Handler> = new Set([
  ...(['create-lease', 'create-node', 'create-pod', 'create-token'] as const),
  ...(['patch-node-status', 'patch-pod-status'] as const),
  ...(['update-lease', 'update-node', 'write-event'] as const),
])

/** One function per kind of request. Each rejects as the API client does, or with InvalidInputError. */
export const HANDLERS: Readonly<Record<Handler, Handle>> = {
  application: passOn,
  'cluster-ca': ifAllowed(clusterCa),
  'create-lease': ifAllowed(writeLease('create')),
  'create-node': ifAllowed(createNode),
  'create-pod': ifAllowed(createPod),
  'create-token': ifAllowed(createToken),
  'delete-pod': deletePod,
  membership: () => Promise.resolve({ kind: 'done' }),
  'patch-node-status': ifAllowed(patchNodeStatus),
  'patch-pod-status': patchPodStatus,
  'read-lease': ifAllowed(readLease),
  'read-object': ifAllowed(readObject),
  refuse: ifAllowed(never),
  'sync-watches': syncWatches,
  'update-lease': ifAllowed(writeLease('update')),
  'update-node': ifAllowed(updateNode),
  'write-event': ifAllowed(writeEvent),
}
