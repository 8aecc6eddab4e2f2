// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../core/clock.js'

/** How long a client may take to send a request. */
export interface RequestTimeouts {
  /** From connecting to the end of the first request's headers. */
  readonly headerMs: number
  /** For a body. */
  readonly bodyMs: number
  /** `whole`: the body must be complete within `bodyMs`; `progress`: some of it must arrive in every `bodyMs`. */
  readonly bodyRule: 'whole' | 'progress'
}

const TOO_SLOW = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

/** Answer 408 and close the connection. */
export const sendTimeout = (socket: Socket): void =>
  void socket.end(TOO_SLOW, () => socket.destroy())

/**
 * Call `cut` in `ms`, and only when what has arrived by then was read: a process that stood still, or was busy, finds its
 * timers due before it reads. The returned function cancels it.
 */
export const afterInput = (clock: Clock, ms: number, cut: () => void): (() => void) => {
  let cancel = clock.after(ms, () => {
    cancel = clock.after(0, cut)
  })
  return () => cancel()
}

/** Close the connection of a client that sends its body too slowly. */
export const limitBodyTime = (
  request: IncomingMessage,
  response: ServerResponse,
  { bodyMs, bodyRule }: RequestTimeouts,
  clock: Clock,
): void => {
  const { headers, socket } = request
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
  if (!hasBody) return
  let seen = socket.bytesRead
  const look = (): void => {
    // Bytes that our own handler has not read yet count as progress too.
    const goesOn = socket.bytesRead > seen || request.readableLength > 0
    if (bodyRule === 'whole' || !goesOn) {
      if (response.headersSent) socket.destroy()
      else sendTimeout(socket)
      return
    }
    seen = socket.bytesRead
    cancel = afterInput(clock, bodyMs, look)
  }
  let cancel = afterInput(clock, bodyMs, look)
  const done = (): void => cancel()
  request.once('end', done)
  request.once('close', done)
}
