// SPDX-License-Identifier: Apache-2.0
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { sleep, type Clock } from '../../core/clock.js'
import { ListenError, reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'

/** Where to listen, and with what. */
export interface Listening {
  readonly address: string
  /** 0 takes a free one. */
  readonly port: number
  readonly app: RequestListener
  /** Ends answers that would never end by themselves (event streams), so that closing can end. */
  readonly onClose?: () => void
}

/** An open listener. */
export interface Listener {
  readonly address: string
  readonly port: number
  /** Take no new connection, let answers end, then cut what is left after the limit. May be called twice. */
  close(): Promise<void>
}

const HEADER_TIMEOUT_MS = 2_000
/** For the whole request: a body that trickles in is cut. */
const REQUEST_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 120_000
/**
 * Node.js looks this often for requests on kept connections that take too long; each look wakes a process that
 * sleeps most of the time. The first request of a connection has a timer of its own.
 */
const CHECK_MS = 10_000
const TOO_SLOW = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'
const MAX_SOCKETS = 256
const CLOSE_LIMIT_MS = 2_000
const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 10_000

const shown = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`

const makeServer = (app: RequestListener, clock: Clock): Server => {
  const server = createServer(
    {
      headersTimeout: HEADER_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_MS,
      maxHeaderSize: 8_192,
      noDelay: true,
    },
    app,
  )
  server.maxConnections = MAX_SOCKETS
  cutSilent(server, clock)
  return server
}

/** Whoever connects and does not ask is cut when its time is over. */
const cutSilent = (server: Server, clock: Clock): void => {
  const cancels = new Map<Socket, () => void>()
  const asked = (socket: Socket): void => {
    cancels.get(socket)?.()
    cancels.delete(socket)
  }
  server.on('connection', (socket: Socket) => {
    const cut = (): void => void socket.end(TOO_SLOW, () => socket.destroy())
    cancels.set(socket, clock.after(HEADER_TIMEOUT_MS, cut))
    socket.once('close', () => asked(socket))
  })
  server.on('request', ({ socket }: IncomingMessage) => asked(socket))
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

const bind = (server: Server, address: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: address, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })

const closeServer = (server: Server, clock: Clock, onClose: () => void): Promise<void> =>
  new Promise(resolve => {
    const cancel = clock.after(CLOSE_LIMIT_MS, () => server.closeAllConnections())
    server.close(() => {
      cancel()
      resolve()
    })
    onClose()
    server.closeIdleConnections()
  })

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken; is another agent running on this node?',
  EACCES: 'not permitted; ports below 1024 need CAP_NET_BIND_SERVICE',
}

/**
 * Open a listener. An address that does not exist yet (the node boots) is tried again, ever more slowly, until
 * `signal` aborts; this is logged once.
 * @throws ListenError for whatever waiting will not mend, or when aborted.
 */
export const listen = async (
  { address, port, app, onClose = () => undefined }: Listening,
  seams: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
): Promise<Listener> => {
  const { clock, log, signal } = seams
  const server = makeServer(app, clock)
  for (let wait = FIRST_RETRY_MS; ; wait = Math.min(2 * wait, LAST_RETRY_MS)) {
    try {
      await bind(server, address, port)
      break
    } catch (cause) {
      const where = shown(address, port)
      if (codeOf(cause) !== 'EADDRNOTAVAIL')
        throw new ListenError(where, reasons[codeOf(cause)] ?? reasonOf(cause), { cause })
      if (wait === FIRST_RETRY_MS)
        log.warn('address does not exist yet, waiting', { address: where })
      if (!(await sleep(clock, wait, signal)))
        throw new ListenError(where, 'the address did not appear', { cause })
    }
  }
  server.on('error', error => log.error('listener failed', { address, error: reasonOf(error) }))
  const bound = server.address() as AddressInfo
  let closing: Promise<void> | undefined
  return {
    address: bound.address,
    port: bound.port,
    close: () => (closing ??= closeServer(server, clock, onClose)),
  }
}
