// SPDX-License-Identifier: Apache-2.0
import { Refusal } from '../../kube/server/status.js'

/** The 508 for a request that has come back: it would go round until no connection is left. */
export const apiserverIsWrapper = (): Refusal =>
  new Refusal(508, '', "the apiserver's address leads to this wrapper itself")

/** The 503 for requests that need the apiserver. */
export const apiserverUnreachable = (reason: string): Refusal =>
  new Refusal(
    503,
    'ServiceUnavailable',
    `the apiserver cannot be reached from this node: ${reason}`,
    { details: { retryAfterSeconds: 5 } },
  )
