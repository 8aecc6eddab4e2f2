// SPDX-License-Identifier: Apache-2.0
import type { ProbeResult } from '../core/check.js'
import type { HttpGet, HttpRequest } from '../core/dial.js'
import { failure, resultOfError, SUCCESS } from './outcome.js'

/**
 * A kubelet that answers is alive: 401 and 403 mean that it could not ask the apiserver who we are, 429 that it is busy,
 * other 4xx and 3xx that the path has moved. Only a 5xx says that it is unhealthy.
 */
export const aliveUnless5xx = (status: number): ProbeResult =>
  status < 500 ? SUCCESS : failure(`HTTP ${status}`)

/** Success is 2xx, or a redirect, which is not followed. */
export const wellOn2xx3xx = (status: number): ProbeResult =>
  status >= 200 && status < 400 ? SUCCESS : failure(`HTTP ${status}`)

/** One request; an error of the network becomes a result. */
export const askHttp = async (
  http: HttpGet,
  request: HttpRequest,
  judge: (status: number) => ProbeResult,
): Promise<ProbeResult> => {
  try {
    const { status } = await http.get(request)
    return judge(status)
  } catch (error) {
    return resultOfError(error, request.signal)
  }
}
