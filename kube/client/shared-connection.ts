// SPDX-License-Identifier: Apache-2.0
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  connect,
  OutgoingHttpHeaders,
} from 'node:http2'
import net, { isIP, type Socket } from 'node:net'
import tls, { type TLSSocket } from 'node:tls'
import { hostOf } from '../../core/address.js'
import type { Clock } from '../../core/clock.js'
import { TimeoutError } from '../../core/errors.js'
import { KEEPALIVE_MS } from './kept-agent.js'
import { orAborted } from './or-aborted.js'
import type { Material } from './credentials.js'
import type { TlsMaterial } from './tls-material.js'

/** A connection that cannot be opened within this time is given up, so that the next call tries anew, with a new SYN. */
const CONNECT_MS = 10_000
/** How much of one answer may be on its way, and of all together. HTTP/2's own 64 KiB would make each round trip count. */
const ANSWER_WINDOW = 1 << 20
const WINDOW = 4 << 20
/** A connection over which something came within this time is alive, although one of its calls got no answer. */
const ALIVE_MS = 5_000
/** A caller that wants another connection gets one no more often than this. */
const RENEW_MS = 30_000

const H2 = 'h2'
const CLOSED = 'the connection was closed'

/** One HTTP/2 connection, for many requests at a time. */
export class SharedConnection {
  /** Below TLS. */
  readonly socket: Socket
  readonly openedAt: number
  readonly #session: ClientHttp2Session
  readonly #clock: Clock
  #heardAt: number
  #doubtedAt = -Infinity
  #requests = 0
  /** Requests that are not over. */
  #open = 0
  /** What broke it. */
  trouble: Error | undefined

  private constructor(session: ClientHttp2Session, { socket, secured }: Sockets, clock: Clock) {
    this.socket = socket
    this.#clock = clock
    this.openedAt = this.#heardAt = clock.now()
    socket.setKeepAlive(true, KEEPALIVE_MS)
    this.#session = session
    this.#session.on('error', (error: Error) => (this.trouble ??= error))
    // Node.js tells the session nothing of a socket that broke while it was idle.
    secured.on('error', (error: Error) => (this.trouble ??= error))
  }

  /** Over sockets that are connected. Requests may follow when it is `ready`. */
  static async over(origin: string, sockets: Sockets, clock: Clock): Promise<SharedConnection> {
    // Programs that need no HTTP/2 are spared its memory.
    const http2 = (await import('node:http2')) as { readonly connect: typeof connect }
    if (sockets.secured.destroyed) throw new Error(CLOSED)
    const session = http2.connect(origin, {
      createConnection: () => sockets.secured,
      settings: { enablePush: false, initialWindowSize: ANSWER_WINDOW },
    })
    return new SharedConnection(session, sockets, clock)
  }

  /** Resolves when requests are sent at once. */
  ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#session.once('connect', () => {
        this.#session.setLocalWindowSize(WINDOW)
        resolve()
      })
      this.#session.once('close', () => reject(this.trouble ?? new Error(CLOSED)))
    })
  }

  /** Whether it takes new requests. */
  get isUsable(): boolean {
    if (this.#session.closed || this.isGone || this.#heardAt < this.#doubtedAt) return false
    // Node.js would let further ones wait, and a write would be sent later than its guard was asked.
    const { maxConcurrentStreams = Infinity } = this.#session.remoteSettings
    return this.#open < maxConcurrentStreams
  }

  get isGone(): boolean {
    return this.#session.destroyed || this.socket.destroyed
  }

  /** Whether it had requests before the last one. */
  get wasUsed(): boolean {
    return this.#requests > 1
  }

  /** A call got no answer over it: it is not used until something comes over it, unless something did a moment ago. */
  doubt(): void {
    const now = this.#clock.now()
    if (now - this.#heardAt >= ALIVE_MS) this.#doubtedAt = now
  }

  heard(): void {
    this.#heardAt = this.#clock.now()
  }

  /** @throws when it takes no more requests */
  request(headers: OutgoingHttpHeaders, hasBody: boolean): ClientHttp2Stream {
    this.#requests++
    const stream = this.#session.request(headers, { endStream: !hasBody })
    this.#open++
    stream.once('close', () => this.#open--)
    return stream
  }

  /** The clock's time. */
  get now(): number {
    return this.#clock.now()
  }

  /** Whether something came over it since then. */
  hasHeardSince(at: number): boolean {
    return this.#heardAt > at
  }

  /** Close it, and take back what the kernel has not delivered yet. */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  /** No new requests; it closes when the present ones have ended. */
  retire(): void {
    this.#session.close()
  }

  destroy(): void {
    this.#session.destroy()
  }
}

/** A connection that is being opened, and how many calls wait for it. */
interface Opening {
  /** Undefined when the server does not speak HTTP/2. */
  readonly ready: Promise<SharedConnection | undefined>
  /** Stop trying. */
  abandon(): void
  waiting: number
}

/** TLS, and the connection that it goes over. */
interface Sockets {
  readonly socket: Socket
  readonly secured: TLSSocket
}

/** Resolves when the event comes; rejects when the socket fails before. */
const reached = (socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once(event, resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error(CLOSED)))
  })

/** TLS of its own over a connection, since Node.js does not reset those of TLS. */
const secure = async (
  socket: Socket,
  { server, tls: material }: Material,
  ticket: Buffer | undefined,
): Promise<TLSSocket> => {
  await reached(socket, 'connect')
  const host = hostOf(server)
  const { secureContext, rejectUnauthorized, servername } = material!
  const name = servername ?? (isIP(host) === 0 ? host : undefined)
  const secured = tls.connect({
    ...{ socket, host, secureContext, rejectUnauthorized, ALPNProtocols: [H2, 'http/1.1'] },
    ...(name === undefined ? {} : { servername: name }),
    ...(ticket === undefined ? {} : { session: ticket }),
  })
  await reached(secured, 'secureConnect')
  return secured
}

/**
 * The HTTP/2 connection to an apiserver: one at a time for new requests. It is opened when the first request needs it, and
 * replaced when it was closed, when the server said that it will close it, or when a call got no answer over it.
 */
export class SharedConnections {
  readonly #clock: Clock
  #tls: TlsMaterial | undefined
  #origin: string | undefined
  #current: SharedConnection | undefined
  #opening: Opening | undefined
  /** Those that still have calls. */
  readonly #all = new Set<SharedConnection>()
  /** The server has no HTTP/2. Not asked again before its address or the TLS material changes. */
  #isRefused = false
  /** The connection by which that was found out. */
  #spare: TLSSocket | undefined
  /** With it the next handshake needs no certificates. */
  #ticket: Buffer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns undefined where the server, or the way to it, has no HTTP/2. Rejects when no connection can be opened. */
  async get(material: Material, signal: AbortSignal): Promise<SharedConnection | undefined> {
    if (material.tls === undefined) return undefined
    this.#follow(material)
    if (this.#isRefused) return undefined
    if (this.#current?.isUsable === true) return this.#current
    const opening = (this.#opening ??= this.#open(material))
    opening.waiting++
    try {
      return await orAborted(opening.ready, signal)
    } finally {
      opening.waiting--
      if (opening.waiting === 0) opening.abandon()
    }
  }

  /** A connection for HTTP/1.1 that nobody uses yet. */
  takeSpare(): TLSSocket | undefined {
    const spare = this.#spare
    this.#spare = undefined
    return spare?.destroyed === false ? spare : undefined
  }

  /** A call got no answer: if the connection does not show that it is alive, the next call goes over a new one. */
  doubt(): void {
    this.#current?.doubt()
  }

  /** The next call goes over a new connection, unless this one is new. */
  renew(): void {
    const current = this.#current
    if (current !== undefined && this.#clock.now() - current.openedAt >= RENEW_MS) this.#retire()
  }

  /** Close all connections now. */
  close(): void {
    this.#opening?.abandon()
    this.#spare?.destroy()
    for (const connection of this.#all) connection.destroy()
  }

  #follow(now: Material): void {
    if (this.#isPresent(now)) return
    this.#tls = now.tls
    this.#origin = now.server.origin
    this.#isRefused = false
    this.#ticket = undefined
    this.#opening = undefined
    this.takeSpare()?.destroy()
    this.#retire()
  }

  #retire(): void {
    this.#current?.retire()
    this.#current = undefined
  }

  #open(material: Material): Opening {
    const { server } = material
    const socket = net.connect({ host: hostOf(server), port: Number(server.port || '443') })
    const cancel = this.#clock.after(CONNECT_MS, () => socket.destroy(new TimeoutError(CONNECT_MS)))
    const opening: Opening = {
      ready: this.#connect(material, socket).finally(() => {
        cancel()
        if (this.#opening === opening) this.#opening = undefined
      }),
      abandon: () => {
        const isOver = this.#opening !== opening
        if (!isOver) socket.destroy()
      },
      waiting: 0,
    }
    return opening
  }

  async #connect(material: Material, socket: Socket): Promise<SharedConnection | undefined> {
    const secured = await secure(socket, material, this.#ticket)
    if (secured.alpnProtocol !== H2) {
      this.#isRefused = this.#isPresent(material)
      this.#spare = secured
      return undefined
    }
    secured.on('session', ticket => {
      if (this.#isPresent(material)) this.#ticket = ticket
    })
    const connection = await SharedConnection.over(
      material.server.origin,
      { socket, secured },
      this.#clock,
    )
    this.#all.add(connection)
    socket.once('close', () => this.#all.delete(connection))
    await connection.ready()
    if (this.#isPresent(material)) {
      this.#current?.retire()
      this.#current = connection
    }
    // Those who waited for it send their requests before that.
    else setImmediate(() => connection.retire())
    return connection
  }

  #isPresent({ tls: material, server }: Material): boolean {
    return this.#tls === material && this.#origin === server.origin
  }
}
