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

/** The HTTP status of a failed request. Below 400 an edge would take it for success; above 599 it knows none. */
const codeOf = (status: number): number =>
  Number.isInteger(status) && status >= 400 && status <= 599 ? status : 500

/**
 * The error that an edge takes for one. It reads everything that is not an API Status as success with an empty object,
 * and registering a node with such a reply ends edgecore: `{}` must never be written. A `status` that is not empty makes
 * it an error whatever else is missing.
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

/** The error that an edge gets for a failed request: the apiserver's own Status, or 504, 503 or 500. */
export const statusOf = (error: unknown): KubeStatus => {
  const message = reasonOf(error)
  if (error instanceof KubeStatusError)
    return {
      status: error.status,
      reason: error.reason,
      message: error.said === '' ? message : error.said,
      details: error.details,
    }
  // Too late, or another bridge leads: nothing was sent.
  if (error instanceof WithheldError) return { status: 503, reason: 'ServiceUnavailable', message }
  if (error instanceof TimeoutError) return { status: 504, reason: 'Timeout', message }
  if (error instanceof KubeUnreachableError)
    return error.cause instanceof TimeoutError
      ? { status: 504, reason: 'Timeout', message }
      : { status: 503, reason: 'ServiceUnavailable', message }
  return { status: 500, reason: 'InternalError', message }
}
