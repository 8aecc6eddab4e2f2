// SPDX-License-Identifier: Apache-2.0
import http, { type IncomingMessage, type RequestListener, type Server } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../core/clock.js'
import { ListenError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { asksForTunnel } from './proxy/headers.js'
import { serveAsPlain } from './proxy/plain-request.js'
import { guarded, isMeant } from './host-guard.js'
import type { ListenAddress } from './options/wrapper-options.js'
import type { ServerTls } from './tls.js'

/** What listens, and with what. */
export interface Listening {
  readonly at: ListenAddress
  readonly handle: RequestListener
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Clients must show a certificate of its authority; undefined: plain HTTP. */
  readonly tls?: ServerTls | undefined
}

/** An open listener. */
export interface Listener {
  /** The one that was asked for; with 0, the one that was free. */
  readonly port: number
  /** New connections are made with these certificates. */
  renew(tls: ServerTls): void
  /** Take no new connection, let answers end for a moment, then cut what is left. */
  close(): Promise<void>
}

/** A request's headers. A body may take as long as it likes, and an answer too: watches, logs, uploads. */
const HEADERS_MS = 10_000
const IDLE_MS = 120_000
const MAX_SOCKETS = 1_024
const CLOSE_MS = 1_000

const optionsOf = ({ ca, cert, key }: ServerTls): https.ServerOptions => ({
  ...{ ca, cert, key },
  requestCert: true,
  rejectUnauthorized: true,
  minVersion: 'TLSv1.2',
})

const makeServer = ({ at, handle, tls }: Listening): Server => {
  const times = {
    headersTimeout: HEADERS_MS,
    requestTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    noDelay: true,
  }
  return tls === undefined
    ? http.createServer(times, guarded(at.host, handle))
    : https.createServer({ ...times, ...optionsOf(tls) }, guarded(at.host, handle))
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken; is another wrapper running on this node?',
  EADDRNOTAVAIL: 'this node does not have the address',
  EACCES: 'not permitted; ports below 1024 need CAP_NET_BIND_SERVICE',
}

const bind = (server: Server, { host, port }: ListenAddress): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const where = `${host.includes(':') ? `[${host}]` : host}:${port}`
      reject(new ListenError(where, reasons[cause.code ?? ''] ?? reasonOf(cause), { cause }))
    })
    server.listen({ host, port }, resolve)
  })

/** Open a listener. @throws ListenError */
export const listen = async (
  listening: Listening,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<Listener> => {
  const { at, upgrade } = listening
  const server = makeServer(listening)
  server.maxConnections = MAX_SOCKETS
  // Node.js forgets a socket as soon as it is upgraded.
  const upgraded = new Set<Duplex>()
  if (upgrade !== undefined)
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (!asksForTunnel(request.rawHeaders)) {
        serveAsPlain(server, request, socket, head)
        return
      }
      if (!isMeant(request, at.host)) {
        socket.destroy()
        return
      }
      upgraded.add(socket)
      socket.once('close', () => upgraded.delete(socket))
      upgrade(request, socket, head)
    })
  await bind(server, at)
  server.removeAllListeners('error')
  server.on('error', error => log.error('listener failed', { ...at, error: reasonOf(error) }))
  server.on('tlsClientError', (error: Error) =>
    log.debug('client refused', { error: reasonOf(error) }),
  )
  const close = (): Promise<void> =>
    new Promise(resolve => {
      const cancel = clock.after(CLOSE_MS, () => server.closeAllConnections())
      server.close(() => {
        cancel()
        resolve()
      })
      server.closeIdleConnections()
      for (const socket of upgraded) socket.destroy()
    })
  let closing: Promise<void> | undefined
  return {
    port: (server.address() as AddressInfo).port,
    renew: tls => {
      if (server instanceof https.Server) server.setSecureContext(optionsOf(tls))
    },
    close: () => (closing ??= close()),
  }
}
