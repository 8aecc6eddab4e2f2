// SPDX-License-Identifier: Apache-2.0
import type { ProbeResult } from '../core/check.js'
import type { HttpGet, HttpRequest } from '../core/dial.js'
import { failure, resultOfError, SUCCESS } from './outcome.js'

/**
 * A kubelet that answers lives, whatever it thinks of us: 401 and 403 come from one that cannot ask the apiserver who
 * we are, 429 from a busy one, other 4xx and 3xx from a moved path. Only with a 5xx does it call itself ill.
 */
export const aliveUnless5xx = (status: number): ProbeResult =>
  status < 500 ? SUCCESS : failure(`HTTP ${status}`)

/** The answer must be the one that was hoped for: 2xx, or a redirect, which is not followed. */
export const wellOn2xx3xx = (status: number): ProbeResult =>
  status >= 200 && status < 400 ? SUCCESS : failure(`HTTP ${status}`)

/** Ask once; the network's errors become a result. */
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
