// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../../core/json.js'
import { mapAt, mapsAt, valueAt } from '../../../core/json-at.js'
import { metadataOf, tidyObject } from '../../model/merge/tidy.js'
import { refused, type Call, type Result } from './call.js'
import { objectNameOf, objectsOf, TOKENS } from './objects.js'

/** The audiences of the tokens in the pod's volumes, and the apiserver's own. */
const audiencesOf = (pod: JsonMap): ReadonlySet<unknown> => {
  const volumes = mapsAt(pod, 'spec', 'volumes')
  const sources = volumes.flatMap(volume => mapsAt(volume, 'projected', 'sources'))
  return new Set(sources.map(source => valueAt(source, 'serviceAccountToken', 'audience')))
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
  const { audiences, expirationSeconds } = mapAt(content, 'spec')
  const bound = mapAt(content, 'spec', 'boundObjectRef')
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
