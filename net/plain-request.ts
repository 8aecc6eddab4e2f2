// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, Server } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'

/**
 * Serve an upgrade request for an unsupported protocol as an ordinary request (RFC 9110, 7.8). Node.js has detached the
 * connection, so hand it back with the request, without its `Upgrade` header, put in front.
 */
export const serveAsPlain = (
  server: Server,
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void => {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() !== 'upgrade')
      lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`)
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit(server instanceof https.Server ? 'secureConnection' : 'connection', socket)
}
