// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { parseRetryAfter } from '../../kube/client/retry-after.js'
import type { QueuedEvent, SentEvent } from './event-queue.js'
import type { UpstreamPool } from './upstream-call.js'

/** Time limit for response headers: an admission webhook may take 10 s by default. */
const ANSWER_MS = 15_000

/** Send a queued Event with its own headers. Never rejects. */
export const sendEvent = async (
  pool: UpstreamPool,
  clock: Clock,
  { url, headers, body }: QueuedEvent,
  signal: AbortSignal,
): Promise<SentEvent> => {
  try {
    const { host } = await pool.server()
    const all = [...['Host', host], ...headers, 'Content-Length', String(body.length)]
    const call = await pool.open({
      ...{ method: 'POST', url, headers: all, answerMs: ANSWER_MS },
      // An Event has a unique name: if it is sent twice, the second is refused.
      isPooled: true,
    })
    const abort = (): void => void call.request.destroy()
    signal.addEventListener('abort', abort, { once: true })
    call.request.end(body)
    const { response } = await call.answer.finally(() => signal.removeEventListener('abort', abort))
    response.resume()
    const { statusCode = 500, headers: said } = response
    if (statusCode === 429 || statusCode >= 500) {
      const retryAfterMs = parseRetryAfter(said['retry-after'], clock.wall())
      return retryAfterMs === undefined ? 'failed' : { retryAfterMs }
    }
    return statusCode < 300 || statusCode === 409 ? 'sent' : 'refused'
  } catch {
    // The reason does not matter, since it is tried again. The error may quote headers and is not logged.
    return 'unreachable'
  }
}
