// SPDX-License-Identifier: Apache-2.0
import {
  KubeStatusError,
  KubeUnreachableError,
  reasonOf,
  TimeoutError,
  WithheldError,
  type KubeStatus,
} from '../../../core/errors.js'
import type { JsonMap } from '../../../core/json.js'

/** The HTTP status of a failed request. An edge takes one below 400 for success, and knows none above 599. */
const codeOf = (status: number): number =>
  Number.isInteger(status) && status >= 400 && status <= 599 ? status : 500

/**
 * A Status that an edge recognizes as an error. It takes everything else for success with an empty object, and registering
 * a node with that ends edgecore, so `{}` must never be sent. A non-empty `status` makes it an error whatever else is
 * missing.
 */
export const errStatus = ({ status, reason, message, details }: KubeStatus): JsonMap => ({
  ErrStatus: {
    metadata: {},
    status: 'Failure',
    message,
    ...(reason === '' ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    code: codeOf(status),
  },
})

/** The Status that an edge gets for a failed request: the apiserver's own, or one with code 504, 503 or 500. */
export const statusOf = (error: unknown): KubeStatus => {
  const message = reasonOf(error)
  if (error instanceof KubeStatusError)
    return {
      status: error.status,
      reason: error.reason,
      message: error.said === '' ? message : error.said,
      details: error.details,
    }
  // The request was withheld: it was too late, or another bridge leads.
  if (error instanceof WithheldError) return { status: 503, reason: 'ServiceUnavailable', message }
  if (error instanceof TimeoutError) return { status: 504, reason: 'Timeout', message }
  if (error instanceof KubeUnreachableError)
    return error.cause instanceof TimeoutError
      ? { status: 504, reason: 'Timeout', message }
      : { status: 503, reason: 'ServiceUnavailable', message }
  return { status: 500, reason: 'InternalError', message }
}
