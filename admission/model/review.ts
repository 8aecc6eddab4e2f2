// SPDX-License-Identifier: Apache-2.0
import { Buffer } from 'node:buffer'
import { InvalidInputError } from '../../core/errors.js'
import { isMap, type JsonMap } from '../../core/json.js'
import { textAt, valueAt } from '../../core/json-at.js'
import type { Decision } from './decision.js'

const VERSIONS = ['admission.k8s.io/v1', 'admission.k8s.io/v1beta1'] as const

/** The parts of an AdmissionReview that are needed. */
export interface Review {
  /** The response has the same. */
  readonly apiVersion: (typeof VERSIONS)[number]
  readonly uid: string
  /** `CREATE`, `UPDATE`, `DELETE`, `CONNECT`. */
  readonly operation: string
  /** Resource without the version: `nodes`, `endpointslices.discovery.k8s.io`, `pods/status`. */
  readonly resource: string
  readonly version: string
  /** '' for cluster-scoped objects. */
  readonly namespace: string
  readonly username: string
  /** The object after the write; undefined for a deletion. */
  readonly object: JsonMap | undefined
  /** The stored object; undefined for a creation. */
  readonly oldObject: JsonMap | undefined
}

/** The response repeats the uid, so it must not be large; Kubernetes' have 36 characters. */
const LONGEST_UID = 128

const refuse = (part: string, rule: string, value: unknown): never => {
  throw new InvalidInputError(`AdmissionReview: ${part}`, rule, value)
}

const resourceOf = (request: JsonMap): string => {
  const group = textAt(request, 'resource', 'group')
  const subresource = textAt(request, 'subResource')
  return (
    textAt(request, 'resource', 'resource') +
    (group === '' ? '' : `.${group}`) +
    (subresource === '' ? '' : `/${subresource}`)
  )
}

const objectAt = (request: JsonMap, key: string): JsonMap | undefined => {
  const object = valueAt(request, key)
  if (object === undefined || object === null) return undefined
  return isMap(object) ? object : refuse(`request.${key}`, 'must be an object', object)
}

/** @throws InvalidInputError when it is not an AdmissionReview with a request */
export const parseReview = (raw: unknown): Review => {
  if (textAt(raw, 'kind') !== 'AdmissionReview')
    refuse('kind', 'must be "AdmissionReview"', valueAt(raw, 'kind'))
  const given = valueAt(raw, 'apiVersion')
  const apiVersion =
    VERSIONS.find(version => version === given) ??
    refuse('apiVersion', `must be one of ${VERSIONS.join(', ')}`, given)
  const request = valueAt(raw, 'request')
  if (!isMap(request)) return refuse('request', 'must be an object', request)
  const uid = textAt(request, 'uid')
  if (uid === '' || uid.length > LONGEST_UID)
    refuse('request.uid', `must be a text of 1 to ${LONGEST_UID} characters`, request['uid'])
  return {
    apiVersion,
    uid,
    operation: textAt(request, 'operation'),
    resource: resourceOf(request),
    version: textAt(request, 'resource', 'version'),
    namespace: textAt(request, 'namespace'),
    username: textAt(request, 'userInfo', 'username'),
    object: objectAt(request, 'object'),
    oldObject: objectAt(request, 'oldObject'),
  }
}

const responseOf = (decision: Decision): object => {
  switch (decision.kind) {
    case 'unchanged':
      return { allowed: true }
    case 'changed': {
      const patch = Buffer.from(JSON.stringify(decision.patch)).toString('base64')
      return { allowed: true, patchType: 'JSONPatch', patch }
    }
    case 'refused': {
      const { message } = decision
      return { allowed: false, status: { code: 403, reason: 'Forbidden', message } }
    }
  }
}

/** The response to the apiserver, with the review's version and uid. */
export const answerReview = (
  { apiVersion, uid }: Pick<Review, 'apiVersion' | 'uid'>,
  decision: Decision,
): object => ({ apiVersion, kind: 'AdmissionReview', response: { uid, ...responseOf(decision) } })
