// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, Server } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { headText, pairsOf } from './headers.js'

/**
 * Serve a request that asked for a protocol that we do not speak as if it had not (RFC 9110, 7.8). Node.js has given
 * its connection away: it gets it back, with the request in front and without the wish.
 */
export const serveAsPlain = (
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void => {
  const headers = pairsOf(rawHeaders).filter(([name]) => name.toLowerCase() !== 'upgrade')
  const text = headText(`${method} ${url} HTTP/${httpVersion}`, headers.flat())
  socket.unshift(Buffer.concat([Buffer.from(text, 'latin1'), head]))
  server.emit(server instanceof https.Server ? 'secureConnection' : 'connection', socket)
}
