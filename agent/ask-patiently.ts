// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../core/clock.js'
import type { ApiBackoff } from './api-backoff.js'

/** How often to see whether the link is back, which ends the wait. */
const LOOK_MS = 2_000

/**
 * One request as soon as the apiserver may be asked; the backoff learns how it ended. Rejects as the request
 * does, or with the signal's reason.
 */
export const askPatiently = async <T>(
  { clock, apiBackoff }: { readonly clock: Clock; readonly apiBackoff: ApiBackoff },
  signal: AbortSignal,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  while (!apiBackoff.isReady) {
    const waitMs = Math.min(LOOK_MS, apiBackoff.readyAt - clock.now())
    if (!(await sleep(clock, waitMs, signal))) throw signal.reason
  }
  apiBackoff.left()
  try {
    const answer = await ask(signal)
    apiBackoff.succeeded()
    return answer
  } catch (error) {
    if (!signal.aborted) apiBackoff.failed(error)
    throw error
  }
}
