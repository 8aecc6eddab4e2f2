// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../core/clock.js'
import type { ApiBackoff } from './api-backoff.js'

/** A link that is back ends a wait: so often that is looked at. */
const LOOK_MS = 2_000

/**
 * One request as soon as the apiserver may be asked, and what became of it is taken into account. Rejects as the request
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
