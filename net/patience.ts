// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../core/clock.js'

/** How long a client may take to say what it wants. */
export interface PatienceLimits {
  /** From the connection to the end of the first request's headers. */
  readonly headerMs: number
  /** For a body. */
  readonly bodyMs: number
  /** `whole`: the body must be there within `bodyMs`; `progress`: a part of it must come each `bodyMs`. */
  readonly bodyRule: 'whole' | 'progress'
}

const TOO_SLOW = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

/** Ends a connection, saying why. */
export const tellTooSlow = (socket: Socket): void =>
  void socket.end(TOO_SLOW, () => socket.destroy())

/** Cuts a client whose body does not come. */
export const awaitBody = (
  request: IncomingMessage,
  response: ServerResponse,
  { bodyMs, bodyRule }: PatienceLimits,
  clock: Clock,
): void => {
  const { headers, socket } = request
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
  if (!hasBody) return
  let seen = socket.bytesRead
  const look = (): void => {
    // What waits for a reader of ours is no fault of the client's.
    const goesOn = socket.bytesRead > seen || request.readableLength > 0
    if (bodyRule === 'whole' || !goesOn) {
      if (response.headersSent) socket.destroy()
      else tellTooSlow(socket)
      return
    }
    seen = socket.bytesRead
    cancel = clock.after(bodyMs, look)
  }
  let cancel = clock.after(bodyMs, look)
  const done = (): void => cancel()
  request.once('end', done)
  request.once('close', done)
}
