// SPDX-License-Identifier: Apache-2.0
import http, { type IncomingMessage, type RequestListener, type Server } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../core/clock.js'
import { reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import { bind, hostPort } from './bind.js'
import type { ConnectionLimits } from './connection-limiter.js'
import { Connections } from './connections.js'
import { Handshakes } from './handshakes.js'
import { isForThisHost } from './host-guard.js'
import type { PaceLimits } from './pace.js'
import type { RequestTimeouts } from './request-timeouts.js'
import { serveAsPlain } from './plain-request.js'
import type { Sources } from './sources.js'

/** Certificates of a listener as PEM. With `ca`, clients must present a certificate signed by it. */
export interface ServerTls {
  readonly ca?: string
  readonly cert: string
  readonly key: string
  /** Clients may present no certificate or an unknown one; `authorized` of the request's socket tells. @default false */
  readonly areClientsUnknown?: boolean
}

/** Limits for a listener's clients. */
export interface ListenLimits extends ConnectionLimits, RequestTimeouts {
  readonly headerBytes: number
  /** How long a kept-alive connection may be idle. */
  readonly idleMs: number
  /** Whether strangers' connections are kept alive after the first answer. */
  readonly keepAliveForStrangers: boolean
  /** Rate of TLS handshakes. @default unlimited */
  readonly handshakes?: PaceLimits | undefined
  /** How long a TLS handshake may take. @default `headerMs` */
  readonly handshakeMs?: number | undefined
  /** How long `close` waits for running answers. */
  readonly closeMs: number
}

/** What a listener serves, where, and within which limits. */
export interface Listening {
  readonly address: string
  /** 0: any free port. */
  readonly port: number
  readonly handle: RequestListener
  /** Handles upgrade requests. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /**
   * Whether `upgrade` handles this upgrade request; others are answered as if they had no `Upgrade` header. @default always
   */
  readonly asksForUpgrade?: (request: IncomingMessage) => boolean
  /** False: upgraded connections no longer count here, and `upgrade` has to limit them. @default true */
  readonly areUpgradesCounted?: boolean
  /** Answers requests whose Host header does not name this machine. @default any Host is served */
  readonly forbidden?: RequestListener | undefined
  /** Undefined: plain HTTP. */
  readonly tls?: ServerTls | undefined
  readonly limits: ListenLimits
  /** Tells clients apart. */
  readonly sources: Sources
  /** Called by `close`, to end answers that do not end by themselves, such as event streams. */
  readonly onClose?: () => void
}

/** Seams of a listener. */
export interface ListenSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Aborts the wait for an address that does not exist yet. */
  readonly signal: AbortSignal
  /** Called for each connection that was closed to make room. */
  readonly onEvicted?: () => void
}

/** For status and metrics. */
export interface ListenerStatus {
  /** Connections closed to make room, since the start. */
  readonly evicted: number
  /** Connections that had to wait for their handshake, since the start. */
  readonly delayed: number
  /** Connections that wait for it now. */
  readonly waiting: number
}

/** An open listener. */
export interface Listener {
  readonly address: string
  /** The port that was bound. */
  readonly port: number
  readonly status: ListenerStatus
  /** Use these certificates for new connections; no effect on plain HTTP. */
  renew(tls: ServerTls): void
  /** Accept no new connections, let running answers end, and close the rest after `closeMs`. May be called twice. */
  close(): Promise<void>
}

/**
 * Interval at which Node.js checks kept-alive connections for slow headers. It is long, since each check wakes an otherwise
 * idle process. The first request of a connection has its own timer, in `Connections`.
 */
const CHECK_MS = 10_000

const optionsOf = ({
  ca,
  cert,
  key,
  areClientsUnknown = false,
}: ServerTls): https.ServerOptions => ({
  ...{ cert, key },
  ...(ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: !areClientsUnknown }),
  minVersion: 'TLSv1.2',
})

const guarded = ({ address, handle, forbidden }: Listening): RequestListener =>
  forbidden === undefined
    ? handle
    : (request, response) => {
        if (isForThisHost(request, address)) handle(request, response)
        else forbidden(request, response)
      }

const makeServer = (listening: Listening): Server => {
  const { limits, tls } = listening
  const options = {
    headersTimeout: limits.headerMs,
    // Bodies have their own timer: `limitBodyTime`.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: limits.headerBytes,
    noDelay: true,
  }
  const { handshakeMs = limits.headerMs } = limits
  const server =
    tls === undefined
      ? http.createServer(options)
      : https.createServer({ ...options, handshakeTimeout: handshakeMs, ...optionsOf(tls) })
  // `headerBytes` is the limit. Beyond a number of headers Node.js would leave out the rest without a word.
  server.maxHeadersCount = 0
  return server
}

/** Upgrade handling. Node.js does not track upgraded sockets. @returns those that are open, for `close` */
const takeUpgrades = (
  server: Server,
  listening: Listening,
  connections: Connections,
): Set<Duplex> => {
  const { address, upgrade, asksForUpgrade = () => true, forbidden } = listening
  const { areUpgradesCounted = true } = listening
  const upgraded = new Set<Duplex>()
  if (upgrade === undefined) return upgraded
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const isPlain = !asksForUpgrade(request)
    const isForbidden = !isPlain && forbidden !== undefined && !isForThisHost(request, address)
    if (isForbidden || connections.isBusy(request)) {
      socket.destroy()
      return
    }
    if (isPlain) {
      serveAsPlain(server, request, socket, head)
      return
    }
    if (areUpgradesCounted) connections.upgraded(request)
    else connections.released(request)
    upgraded.add(socket)
    socket.once('close', () => upgraded.delete(socket))
    upgrade(request, socket, head)
  })
  return upgraded
}

/** @returns undefined when handshakes are not limited */
const pacedHandshakes = (
  server: Server,
  { address, limits: { handshakes: limits }, sources, tls }: Listening,
  seams: ListenSeams,
): Handshakes | undefined => {
  if (limits === undefined || tls === undefined) return undefined
  const handshakes = new Handshakes({ address, limits, sources }, seams)
  handshakes.hold(server)
  return handshakes
}

/**
 * Open a listener. While the address does not exist yet, since the node is booting, binding is tried again with growing
 * waits until `signal` aborts; this is logged once.
 * @throws ListenError for any other failure, or when aborted
 */
export const listen = async (listening: Listening, seams: ListenSeams): Promise<Listener> => {
  const { clock, log } = seams
  const { limits, onClose } = listening
  const server = makeServer(listening)
  const connections = new Connections(
    { ...listening, isSecure: listening.tls !== undefined },
    seams,
  )
  const handshakes = pacedHandshakes(server, listening, seams)
  server.on('connection', (socket: Socket) => connections.opened(socket))
  const handle = guarded(listening)
  server.on('request', (request, response) =>
    connections.requested(request, response, () => handle(request, response)),
  )
  const upgraded = takeUpgrades(server, listening, connections)
  await bind(server, listening, seams)
  const bound = server.address() as AddressInfo
  const address = hostPort(bound.address, bound.port)
  server.on('error', error => log.error('listener failed', { address, error: reasonOf(error) }))
  server.on('tlsClientError', (error: Error) =>
    log.debug('client refused', { error: reasonOf(error) }),
  )
  const close = (): Promise<void> =>
    new Promise(resolve => {
      const cancel = clock.after(limits.closeMs, () => connections.endAll())
      server.close(() => {
        cancel()
        resolve()
      })
      onClose?.()
      server.closeIdleConnections()
      for (const socket of upgraded) socket.destroy()
    })
  let closing: Promise<void> | undefined
  return {
    address: bound.address,
    port: bound.port,
    get status() {
      const { delayed = 0, waiting = 0 } = handshakes ?? {}
      return { evicted: connections.evicted, delayed, waiting }
    },
    renew: tls => {
      if (server instanceof https.Server) server.setSecureContext(optionsOf(tls))
    },
    close: () => (closing ??= close()),
  }
}
