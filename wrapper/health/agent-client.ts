// SPDX-License-Identifier: Apache-2.0
import { request, type IncomingMessage } from 'node:http'

/** A response of the agent whose body is still arriving. */
export interface AgentAnswer {
  readonly status: number
  /** A stream of changes; otherwise one whole document. */
  readonly isStream: boolean
  readonly chunks: AsyncIterable<Uint8Array>
}

/** GETs from the agent of this node. Rejects with the system's error, or the signal's reason. */
export type AskAgent = (url: string, signal: AbortSignal) => Promise<AgentAnswer>

/** Each request uses a new connection: a kept one would be stale after the agent restarts. */
export const askAgent: AskAgent = (url, signal) =>
  new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error)
      return
    }
    const call = request(
      url,
      { agent: false, headers: { accept: 'text/event-stream, */*;q=0.5' } },
      (response: IncomingMessage) =>
        resolve({
          status: response.statusCode ?? 0,
          isStream: (response.headers['content-type'] ?? '').startsWith('text/event-stream'),
          chunks: response,
        }),
    )
    const abort = (): void => void call.destroy(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    call.on('close', () => signal.removeEventListener('abort', abort))
    call.on('error', reject)
    call.end()
  })
