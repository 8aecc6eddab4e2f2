// SPDX-License-Identifier: Apache-2.0
import { Refusal } from '../../kube/server/status.js'

/** The 503 for requests that need the apiserver. */
export const apiserverUnreachable = (reason: string): Refusal =>
  new Refusal(
    503,
    'ServiceUnavailable',
    `the apiserver cannot be reached from this node: ${reason}`,
    { details: { retryAfterSeconds: 5 } },
  )
