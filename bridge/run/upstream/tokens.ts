// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../../core/json.js'
import { metadataOf, tidyObject } from '../../model/merge/tidy.js'
import { refused, type Call, type Result } from './call.js'
import { objectNameOf, objectsOf, TOKENS } from './objects.js'

const mapsIn = (value: unknown): readonly JsonMap[] =>
  Array.isArray(value) ? value.filter(isMap) : []
const mapAt = (map: JsonMap, key: string): JsonMap => (isMap(map[key]) ? map[key] : {})

/** The audiences of the tokens in the pod's volumes, and the apiserver's own. */
const audiencesOf = (pod: JsonMap): ReadonlySet<unknown> => {
  const volumes = mapsIn(mapAt(pod, 'spec')['volumes'])
  const sources = volumes.flatMap(volume => mapsIn(mapAt(volume, 'projected')['sources']))
  return new Set(sources.map(source => mapAt(source, 'serviceAccountToken')['audience']))
}

const textsIn = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? (value as readonly unknown[]) : []).filter(
    (text): text is string => typeof text === 'string' && text !== '',
  )

/**
 * Why a pod may not have a token for these audiences; undefined when it may. Otherwise a node could pose as the pod to any
 * service.
 */
const audienceTrouble = async (
  { client, resource: { namespace }, signal }: Call,
  { name, uid }: JsonMap,
  audiences: readonly string[],
): Promise<string | undefined> => {
  if (audiences.length === 0) return undefined
  const pod = await client.get(objectsOf('pod'), { namespace, name: String(name) }, signal)
  if (metadataOf(pod)['uid'] !== uid) return 'its boundObjectRef is another pod by now'
  const wanted = audiencesOf(pod)
  const stranger = audiences.find(audience => !wanted.has(audience))
  return stranger === undefined ? undefined : `no volume of the pod wants a token for ${stranger}`
}

/** Create a token for a pod of the node, bound to the pod. */
export const createToken = async (call: Call): Promise<Result> => {
  const { client, content, resource, guard, signal } = call
  const { audiences, expirationSeconds, boundObjectRef } = mapAt(content, 'spec')
  const bound = isMap(boundObjectRef) ? boundObjectRef : {}
  const asked = textsIn(audiences)
  const trouble = await audienceTrouble(call, bound, asked)
  if (trouble !== undefined) return refused(403, 'Forbidden', `token is forbidden: ${trouble}`)
  const body = {
    ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
    spec: {
      ...(asked.length === 0 ? {} : { audiences: asked }),
      ...(Number.isInteger(expirationSeconds) ? { expirationSeconds } : {}),
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: bound['name'], uid: bound['uid'] },
    },
  }
  const made = await client.create(TOKENS, objectNameOf(resource), { body, guard }, signal)
  return { kind: 'object', object: tidyObject('serviceaccounttoken', made) }
}
