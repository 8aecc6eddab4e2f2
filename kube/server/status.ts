// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError, type StatusCause, type StatusDetails } from '../../core/errors.js'

/** The resource that a refusal is about, in the API's words. */
export interface Subject {
  readonly group: string
  readonly resource: string
  readonly kind: string
}

interface RefusalMore {
  readonly details?: StatusDetails | undefined
  readonly continue?: string
}

/** A request that the server answers with an error `Status`. */
export class Refusal extends KubeStatusError {
  /** A continue token for the rest of a list whose version has expired. */
  readonly continue: string | undefined
  constructor(status: number, reason: string, message: string, more: RefusalMore = {}) {
    super('request', { status, reason, message, details: more.details })
    this.continue = more.continue
  }
}

/** The error body of the Kubernetes API. */
export const statusBody = (refusal: Refusal): Record<string, unknown> => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: refusal.continue === undefined ? {} : { continue: refusal.continue },
  status: 'Failure',
  message: refusal.said,
  ...(refusal.reason === '' ? {} : { reason: refusal.reason }),
  ...(refusal.details === undefined ? {} : { details: refusal.details }),
  code: refusal.status,
})

/** The body of a successful delete. */
export const successBody = (details: StatusDetails): Record<string, unknown> => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details,
})

/** `nodes`, or `leases.coordination.k8s.io` outside the core group: how messages name a resource. */
export const qualified = (word: string, group: string): string =>
  group === '' ? word : `${word}.${group}`

const resourceDetails = (of: Subject, name: string): StatusDetails => ({
  ...(name === '' ? {} : { name }),
  ...(of.group === '' ? {} : { group: of.group }),
  kind: of.resource,
})

const generic =
  (status: number, reason: string) =>
  (message: string, more?: RefusalMore): Refusal =>
    new Refusal(status, reason, message, more)

export const badRequest = generic(400, 'BadRequest')
/** 503, with how long to wait. */
export const serviceUnavailable = (message: string, retryAfterSeconds: number): Refusal =>
  new Refusal(503, 'ServiceUnavailable', message, { details: { retryAfterSeconds } })
export const unauthorized = (): Refusal => new Refusal(401, 'Unauthorized', 'Unauthorized')
export const notAcceptable = generic(406, 'NotAcceptable')
export const tooLarge = generic(413, 'RequestEntityTooLarge')
export const unsupportedMedia = generic(415, 'UnsupportedMediaType')
export const expired = generic(410, 'Expired')

/** No such object. */
export const notFound = (of: Subject, name: string): Refusal =>
  new Refusal(404, 'NotFound', `${qualified(of.resource, of.group)} "${name}" not found`, {
    details: resourceDetails(of, name),
  })

/** The resource is known, but the verb is not served. */
export const methodNotAllowed = (): Refusal =>
  new Refusal(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    { details: {} },
  )

export const alreadyExists = (of: Subject, name: string): Refusal =>
  new Refusal(
    409,
    'AlreadyExists',
    `${qualified(of.resource, of.group)} "${name}" already exists`,
    { details: resourceDetails(of, name) },
  )

/** 409: the object has changed since the writer read it. */
export const conflict = (
  of: Subject,
  name: string,
  why = 'the object has been modified; please apply your changes to the latest version and try again',
): Refusal =>
  new Refusal(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(of.resource, of.group)} "${name}": ${why}`,
    { details: resourceDetails(of, name) },
  )

const causesText = (causes: readonly StatusCause[]): string => {
  const lines = causes.map(cause =>
    cause.field === undefined ? cause.message : `${cause.field}: ${cause.message}`,
  )
  return lines.length === 1 ? lines.join('') : `[${lines.join(', ')}]`
}

/** Fields that break a rule of the kind. */
export const invalid = (of: Subject, name: string, causes: readonly StatusCause[]): Refusal =>
  new Refusal(
    422,
    'Invalid',
    `${qualified(of.kind, of.group)} "${name}" is invalid: ${causesText(causes)}`,
    { details: { ...resourceDetails({ ...of, resource: of.kind }, name), causes } },
  )

/** A resourceVersion that this server has not reached yet. */
export const versionTooLarge = (asked: number, current: number): Refusal =>
  new Refusal(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${asked}, current: ${current}`,
    {
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    },
  )
