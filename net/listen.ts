// SPDX-License-Identifier: Apache-2.0
import http, { type IncomingMessage, type RequestListener, type Server } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { sleep, type Clock } from '../core/clock.js'
import { ListenError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import type { CrowdLimits } from './crowd.js'
import { Door } from './door.js'
import { isMeant } from './host-guard.js'
import type { PatienceLimits } from './patience.js'
import { serveAsPlain } from './plain-request.js'
import type { Sources } from './sources.js'

/** Certificates of a listener, as PEM texts. Clients must show one of the authority. */
export interface ServerTls {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** What clients may take of a listener. */
export interface ListenLimits extends CrowdLimits, PatienceLimits {
  readonly headerBytes: number
  /** How long a kept connection may do nothing. */
  readonly idleMs: number
  /** Whether a stranger's connection outlives its first answer. */
  readonly keepsStrangers: boolean
  /** How long answers may take to end when the listener closes. */
  readonly closeMs: number
}

/** Where to listen, and with what. */
export interface Listening {
  readonly address: string
  /** 0 takes a free one. */
  readonly port: number
  readonly handle: RequestListener
  /** Takes requests for another protocol. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Whether a request is for `upgrade`; any other is answered as if it had not asked for another protocol. @default all are */
  readonly asksForUpgrade?: (request: IncomingMessage) => boolean
  /** Answers requests that name another host than this; without it any name will do. */
  readonly forbidden?: RequestListener | undefined
  /** Undefined: plain HTTP. */
  readonly tls?: ServerTls | undefined
  readonly limits: ListenLimits
  /** Who the clients are. */
  readonly sources: Sources
  /** Ends answers that would never end by themselves (event streams), so that closing can end. */
  readonly onClose?: () => void
}

/** What a listener needs of the world. */
export interface ListenSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Gives up waiting for the address. */
  readonly signal: AbortSignal
  /** Told of each connection that was ended to make room. */
  readonly onCrowded?: () => void
}

/** An open listener. */
export interface Listener {
  readonly address: string
  /** The one that was asked for; with 0, the one that was free. */
  readonly port: number
  /** New connections are made with these certificates; without effect on plain HTTP. */
  renew(tls: ServerTls): void
  /** Take no new connection, let answers end, then cut what is left after the limit. May be called twice. */
  close(): Promise<void>
}

/**
 * Node.js looks this often for headers on kept connections that take too long; each look wakes a process that
 * sleeps most of the time. The first request of a connection has a timer of its own.
 */
const CHECK_MS = 10_000
const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 10_000

const shown = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`

const optionsOf = ({ ca, cert, key }: ServerTls): https.ServerOptions => ({
  ...{ ca, cert, key },
  requestCert: true,
  rejectUnauthorized: true,
  minVersion: 'TLSv1.2',
})

const guarded = ({ address, handle, forbidden }: Listening): RequestListener =>
  forbidden === undefined
    ? handle
    : (request, response) => {
        if (isMeant(request, address)) handle(request, response)
        else forbidden(request, response)
      }

const makeServer = (listening: Listening): Server => {
  const { limits, tls } = listening
  const options = {
    headersTimeout: limits.headerMs,
    // Bodies have a timer of their own.
    requestTimeout: 0,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: limits.headerBytes,
    noDelay: true,
  }
  const handle = guarded(listening)
  if (tls === undefined) return http.createServer(options, handle)
  const secure = { ...options, handshakeTimeout: limits.headerMs, ...optionsOf(tls) }
  return https.createServer(secure, handle)
}

const bind = (
  server: Server,
  address: string,
  port: number,
): Promise<NodeJS.ErrnoException | undefined> =>
  new Promise(resolve => {
    server.once('error', resolve)
    server.listen({ host: address, port }, () => {
      server.off('error', resolve)
      resolve(undefined)
    })
  })

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken; is the same program running on this node already?',
  EACCES: 'not permitted; ports below 1024 need CAP_NET_BIND_SERVICE',
}

/** @returns false when it is worth another try, after a wait. @throws ListenError when not, or when aborted. */
const tryToBind = async (
  server: Server,
  { address, port }: Listening,
  { clock, log, signal }: ListenSeams,
  waitMs: number,
): Promise<boolean> => {
  const cause = await bind(server, address, port)
  if (cause === undefined) return true
  const code = String(cause.code)
  const where = shown(address, port)
  if (code !== 'EADDRNOTAVAIL')
    throw new ListenError(where, reasons[code] ?? reasonOf(cause), { cause })
  if (waitMs === FIRST_RETRY_MS) log.warn('address does not exist yet, waiting', { address: where })
  if (await sleep(clock, waitMs, signal)) return false
  throw new ListenError(where, 'the address did not appear', { cause })
}

/** Node.js forgets a socket as soon as it is upgraded; who returns it here can end it. */
const takeUpgrades = (
  server: Server,
  { address, upgrade, asksForUpgrade = () => true, forbidden }: Listening,
  door: Door,
): Set<Duplex> => {
  const upgraded = new Set<Duplex>()
  if (upgrade === undefined) return upgraded
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!asksForUpgrade(request)) {
      serveAsPlain(server, request, socket, head)
      return
    }
    if (forbidden !== undefined && !isMeant(request, address)) {
      socket.destroy()
      return
    }
    door.upgraded(request)
    upgraded.add(socket)
    socket.once('close', () => upgraded.delete(socket))
    upgrade(request, socket, head)
  })
  return upgraded
}

/**
 * Open a listener. An address that does not exist yet (the node boots) is tried again, ever more slowly, until
 * `signal` aborts; this is logged once.
 * @throws ListenError for whatever waiting will not mend, or when aborted.
 */
export const listen = async (listening: Listening, seams: ListenSeams): Promise<Listener> => {
  const { clock, log } = seams
  const { limits, onClose } = listening
  const server = makeServer(listening)
  const door = new Door({ ...listening, isSecure: listening.tls !== undefined }, seams)
  server.on('connection', (socket: Socket) => door.enter(socket))
  server.prependListener('request', (request, response) => door.asked(request, response))
  const upgraded = takeUpgrades(server, listening, door)
  let waitMs = FIRST_RETRY_MS
  while (!(await tryToBind(server, listening, seams, waitMs)))
    waitMs = Math.min(2 * waitMs, LAST_RETRY_MS)
  const bound = server.address() as AddressInfo
  const address = shown(bound.address, bound.port)
  server.on('error', error => log.error('listener failed', { address, error: reasonOf(error) }))
  server.on('tlsClientError', (error: Error) =>
    log.debug('client refused', { error: reasonOf(error) }),
  )
  const close = (): Promise<void> =>
    new Promise(resolve => {
      const cancel = clock.after(limits.closeMs, () => door.endAll())
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
    renew: tls => {
      if (server instanceof https.Server) server.setSecureContext(optionsOf(tls))
    },
    close: () => (closing ??= close()),
  }
}
