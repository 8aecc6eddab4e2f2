// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import { KubeStatusError, isNotFound } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { NodeName } from '../../../core/ids.js'
import { statusOf } from '../../../kube/client/resource.js'
import { LocationCache, type PlacedPod } from '../../model/location/location-cache.js'
import { metadataOf, tidyObject } from '../../model/merge/tidy.js'
import { contentDelete, contentPatch } from '../../model/message/content.js'
import { checkRight, type Right } from '../../model/right/right.js'
import type { Call, Result } from './call.js'
import { objectNameOf, objectsOf } from './objects.js'

const PODS = objectsOf('pod')
/** Longer than any uid that an edge gets from the cluster or gives its static pods. One that it makes up is kept and sent back. */
const MAX_UID = 128

type Judged =
  { readonly ok: true; readonly pod: PlacedPod } | Extract<Right, { readonly ok: false }>

const judge = (call: Call, locations: LocationCache): Judged => {
  const right = checkRight(call, locations)
  const { namespace, name } = call.resource
  return right.ok ? { ok: true, pod: locations.podNamed(namespace, name)! } : right
}

/**
 * Whether the node may do this to one of its pods. A pod that the watch has not reported yet, such as a new mirror pod, is
 * read.
 */
const judged = async (call: Call): Promise<Judged> => {
  const known = judge(call, call.locations)
  if (known.ok || known.refusal.status !== 404) return known
  const pod = await call.client.get(PODS, objectNameOf(call.resource), call.signal)
  const { nodeName }: JsonMap = isMap(pod['spec']) ? pod['spec'] : {}
  const alone = new LocationCache()
  if (typeof nodeName === 'string') alone.setPod(pod, nodeName as NodeName)
  return judge(call, alone)
}

/** The patch with the uid that it is meant for, so that it cannot apply to another pod of that name. */
const patchFor = ({ content, message }: Call, uid: string): string => {
  const metadata = metadataOf(content)
  if (metadata['uid'] === uid) return contentPatch('patch of a Pod', message.content)
  return writeExactJson({ ...content, metadata: { ...metadata, uid } })
}

const writeStatus = async (call: Call): Promise<Result> => {
  const right = await judged(call)
  if (!right.ok) return { kind: 'refused', refusal: right.refusal }
  const { client, resource, guard, signal } = call
  const patch = { type: 'strategic-merge', text: patchFor(call, right.pod.uid) } as const
  const name = objectNameOf(resource)
  const found = await client.patch(statusOf(PODS), name, { patch, guard }, signal)
  return { kind: 'object', object: tidyObject('pod', found) }
}

/** Write a pod's status as its edge reports it. The edge may not know yet that the pod was deleted. */
export const patchPodStatus = async (call: Call): Promise<Result> => {
  try {
    return await writeStatus(call)
  } catch (error) {
    const { uid } = metadataOf(call.content)
    if (isNotFound(error) && typeof uid === 'string' && uid.length <= MAX_UID)
      call.downstream.podUnknown(call.resource, uid)
    throw error
  }
}

/** Create the mirror pod of a static pod. */
export const createPod = async (call: Call): Promise<Result> => {
  const { client, content, resource, guard, signal } = call
  const { namespace } = resource
  const made = await client.create(PODS, { namespace }, { body: content, guard }, signal)
  return { kind: 'object', object: tidyObject('pod', made) }
}

const graceOf = (options: JsonMap): number => {
  const { gracePeriodSeconds: seconds } = options
  return typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 0 ? seconds : 0
}

const uidIn = (options: JsonMap): unknown =>
  isMap(options['preconditions']) ? options['preconditions']['uid'] : undefined

/** The pod is gone or another one has its name, so the deletion is done. */
const isGone = (error: unknown): boolean =>
  isNotFound(error) || (error instanceof KubeStatusError && error.status === 409)

/** A pod has stopped on its edge: delete it from the cluster. */
export const deletePod = async (call: Call): Promise<Result> => {
  const asked = contentDelete('delete of a Pod', call.message.content)
  const options = asked.kind === 'uid' ? { preconditions: { uid: asked.uid } } : asked.options
  try {
    const right = await judged(call)
    if (!right.ok && right.refusal.status !== 404)
      return { kind: 'refused', refusal: right.refusal }
    const uid = right.ok ? right.pod.uid : undefined
    if (uid === undefined || (uidIn(options) ?? uid) !== uid) return { kind: 'done' }
    const { client, resource, guard, signal } = call
    const how = { uid, guard, gracePeriodSeconds: graceOf(options) }
    await client.delete(PODS, objectNameOf(resource), how, signal)
  } catch (error) {
    if (!isGone(error)) throw error
  }
  return { kind: 'done' }
}
