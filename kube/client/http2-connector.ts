// SPDX-License-Identifier: Apache-2.0
import net, { isIP, type Socket } from 'node:net'
import tls, { type TLSSocket } from 'node:tls'
import { hostOf } from '../../core/address.js'
import type { Clock } from '../../core/clock.js'
import { TimeoutError } from '../../core/errors.js'
import type { Material } from './credentials.js'
import { CLOSED, Http2Connection } from './http2-connection.js'
import { orAborted } from './or-aborted.js'
import type { TlsMaterial } from './tls-material.js'

/** A connection that cannot be opened within this time is given up, so that the next call tries anew, with a new SYN. */
const CONNECT_MS = 10_000
/** A connection that is younger is not replaced because of what happened elsewhere. */
const RENEW_MS = 30_000

const H2 = 'h2'

/** A connection that is being opened, and how many calls wait for it. */
interface Opening {
  /** Undefined when the server does not speak HTTP/2. */
  readonly ready: Promise<Http2Connection | undefined>
  readonly socket: Socket
  waiting: number
  isOver: boolean
}

/** Resolves when the event comes; rejects when the socket fails before. */
const reached = (socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once(event, resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error(CLOSED)))
  })

/** TLS over a connection of its own, since Node.js does not reset those of TLS. */
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
 * Opens the HTTP/2 connection to an apiserver when the first request needs it, and a new one when that was closed, when the
 * server said that it will close it, when it carries as much as it may, or when it is in doubt.
 */
export class Http2Connector {
  readonly #clock: Clock
  #tls: TlsMaterial | undefined
  #origin: string | undefined
  #current: Http2Connection | undefined
  #opening: Opening | undefined
  /** All that are open: former ones may still have calls. */
  readonly #connections = new Set<Http2Connection>()
  /** The server has no HTTP/2. Not asked again before its address or the TLS material changes. */
  #isRefused = false
  /** The connection by which that was found out, for the present material. */
  #spare: TLSSocket | undefined
  /** With it the next handshake needs no certificates. */
  #ticket: Buffer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns undefined where the server, or the way to it, has no HTTP/2. Rejects when no connection can be opened. */
  async get(material: Material, signal: AbortSignal): Promise<Http2Connection | undefined> {
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
      if (opening.waiting === 0 && !opening.isOver) this.#giveUp(opening)
    }
  }

  /** A connection to this server for HTTP/1.1, secured by this material, that nobody uses yet. */
  takeSpare(material: Material): TLSSocket | undefined {
    if (!this.#isPresent(material)) return undefined
    const spare = this.#spare
    this.#spare = undefined
    return spare?.destroyed === false ? spare : undefined
  }

  /** Another connection to the server seems to be dead: perhaps this one is, too. */
  doubt(): void {
    if (this.#isOld) this.#current?.doubt()
  }

  /** The next call goes over a new connection, unless this one is new. */
  renew(): void {
    if (this.#isOld) this.#retire()
  }

  /** Close all connections now. @internal called when no call is left, so that nothing is being opened */
  close(): void {
    this.#spare?.destroy()
    for (const connection of this.#connections) connection.destroy()
  }

  get #isOld(): boolean {
    const { openedAt = Infinity } = this.#current ?? {}
    return this.#clock.now() - openedAt >= RENEW_MS
  }

  #follow(now: Material): void {
    if (this.#isPresent(now)) return
    this.#spare?.destroy()
    this.#spare = undefined
    this.#tls = now.tls
    this.#origin = now.server.origin
    this.#isRefused = false
    this.#ticket = undefined
    this.#opening = undefined
    this.#retire()
  }

  #retire(): void {
    this.#current?.retire()
    this.#current = undefined
  }

  /** Nobody waits for it any more; the next call opens another one. */
  #giveUp(opening: Opening): void {
    opening.socket.destroy()
    if (this.#opening === opening) this.#opening = undefined
  }

  #open(material: Material): Opening {
    const { server } = material
    const socket = net.connect({ host: hostOf(server), port: Number(server.port || '443') })
    const cancel = this.#clock.after(CONNECT_MS, () => socket.destroy(new TimeoutError(CONNECT_MS)))
    const opening: Opening = {
      socket,
      waiting: 0,
      isOver: false,
      ready: this.#connect(material, socket).finally(() => {
        cancel()
        opening.isOver = true
        if (this.#opening === opening) this.#opening = undefined
      }),
    }
    return opening
  }

  async #connect(material: Material, socket: Socket): Promise<Http2Connection | undefined> {
    const secured = await secure(
      socket,
      material,
      this.#isPresent(material) ? this.#ticket : undefined,
    )
    if (secured.alpnProtocol !== H2) {
      this.#keep(material, secured)
      return undefined
    }
    secured.on('session', ticket => {
      if (this.#isPresent(material)) this.#ticket = ticket
    })
    const { origin } = material.server
    const connection = await Http2Connection.open(origin, { socket, secured }, this.#clock)
    this.#connections.add(connection)
    socket.once('close', () => this.#connections.delete(connection))
    if (this.#isPresent(material)) {
      this.#current?.retire()
      this.#current = connection
    }
    // Those who waited for it send their requests before that.
    else setImmediate(() => connection.retire())
    return connection
  }

  /** A connection without HTTP/2 is used for HTTP/1.1, unless it leads to a former server, or was secured by former material. */
  #keep(material: Material, secured: TLSSocket): void {
    if (!this.#isPresent(material)) {
      secured.destroy()
      return
    }
    this.#isRefused = true
    this.#spare?.destroy()
    this.#spare = secured
  }

  #isPresent({ tls: material, server }: Material): boolean {
    return this.#tls === material && this.#origin === server.origin
  }
}
