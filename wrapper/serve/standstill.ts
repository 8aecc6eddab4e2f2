// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../core/clock.js'
import { afterInput } from '../../net/request-timeouts.js'
import { takenBytes } from '../../net/taken-bytes.js'

/** Far longer than a client is busy, or a link loses packets. */
export const STANDSTILL_MS = 60_000

/**
 * Disconnect a client that takes nothing of a response for so long: what is still to be sent would stay in memory as
 * long as the client likes.
 * @param socket the request's; with several requests on their way a response has none of its own yet
 */
export const endAtStandstill = (
  response: Pick<ServerResponse, 'writableLength' | 'once'>,
  socket: Duplex,
  clock: Clock,
): void => {
  let taken = takenBytes(socket)
  const look = (): void => {
    if (socket.destroyed) return
    const now = takenBytes(socket)
    if (now === taken && response.writableLength > 0) {
      socket.destroy()
      return
    }
    taken = now
    cancel = afterInput(clock, STANDSTILL_MS, look)
  }
  let cancel = afterInput(clock, STANDSTILL_MS, look)
  response.once('close', () => cancel())
}
