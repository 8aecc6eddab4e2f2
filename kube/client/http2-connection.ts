// SPDX-License-Identifier: Apache-2.0
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  connect,
  OutgoingHttpHeaders,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../core/clock.js'
import { KEEPALIVE_MS } from './kept-agent.js'

/** How much of one answer may be on its way, and of all together. HTTP/2's own 64 KiB would make each round trip count. */
const ANSWER_WINDOW = 1 << 20
const WINDOW = 4 << 20
/** A connection over which something came within this time is alive; one that is asked must answer within this time. */
const ALIVE_MS = 5_000
/** Node.js would send no more than ten that are not answered, however many writes are withdrawn at once. */
const MAX_PINGS = 1_000

export const CLOSED = 'the connection was closed'

/** TLS, and the connection that it goes over. */
export interface Sockets {
  readonly socket: Socket
  readonly secured: TLSSocket
}

/** One HTTP/2 connection, for many requests at a time. */
export class Http2Connection {
  /** Below TLS. */
  readonly socket: Socket
  /** `Clock.now` */
  readonly openedAt: number
  readonly #session: ClientHttp2Session
  readonly #clock: Clock
  #heardAt: number
  #doubtedAt = -Infinity
  #requests = 0
  /** Requests that are not over. */
  #open = 0
  /** For each PING that must be answered: cancels the reset of the connection. */
  readonly #pending = new Set<() => void>()
  /** What broke it. */
  trouble: Error | undefined

  private constructor(session: ClientHttp2Session, { socket, secured }: Sockets, clock: Clock) {
    this.socket = socket
    this.#clock = clock
    this.openedAt = this.#heardAt = clock.now()
    socket.setKeepAlive(true, KEEPALIVE_MS)
    this.#session = session
    const broke = (error: Error): void => void (this.trouble ??= error)
    session.on('error', broke)
    // Node.js tells the session nothing of a socket that broke while it was idle.
    secured.on('error', broke)
    session.once('close', () => {
      for (const cancel of this.#pending) cancel()
    })
  }

  /** Begin HTTP/2 over sockets that are connected. Resolves when the server has said how much it takes. */
  static async open(origin: string, sockets: Sockets, clock: Clock): Promise<Http2Connection> {
    // Programs that need no HTTP/2 are spared its memory.
    const http2 = (await import('node:http2')) as { readonly connect: typeof connect }
    if (sockets.secured.destroyed) throw new Error(CLOSED)
    const session = http2.connect(origin, {
      createConnection: () => sockets.secured,
      settings: { enablePush: false, initialWindowSize: ANSWER_WINDOW },
      maxOutstandingPings: MAX_PINGS,
    })
    const connection = new Http2Connection(session, sockets, clock)
    await new Promise<void>((resolve, reject) => {
      session.once('remoteSettings', () => resolve())
      session.once('close', () => reject(connection.trouble ?? new Error(CLOSED)))
    })
    session.setLocalWindowSize(WINDOW)
    return connection
  }

  /** Whether it takes a request now. */
  get isUsable(): boolean {
    if (this.#session.closed || this.isGone || this.#heardAt < this.#doubtedAt) return false
    // Node.js would let further ones wait, and a write would be sent later than its guard was asked.
    return this.#open < this.#mostOpen
  }

  /** Whether it carries as many requests as it may. */
  get isFull(): boolean {
    return this.#open > 0 && this.#open >= this.#mostOpen
  }

  get #mostOpen(): number {
    return this.#session.remoteSettings.maxConcurrentStreams ?? Infinity
  }

  get isGone(): boolean {
    return this.#session.destroyed || this.socket.destroyed
  }

  /** Whether it had requests before the last one. */
  get wasUsed(): boolean {
    return this.#requests > 1
  }

  /** Whether nothing came over it for a while. */
  get isSilent(): boolean {
    return this.#clock.now() - this.#heardAt >= ALIVE_MS
  }

  /** Something came over it. */
  heard(): void {
    this.#heardAt = this.#clock.now()
  }

  /**
   * A request got no answer. If nothing else came over the connection either, the other end is asked whether it is there
   * (a PING), and no new request is sent before something comes.
   */
  doubt(): void {
    if (this.isGone || !this.isSilent) return
    this.#doubtedAt = this.#clock.now()
    this.#ask()
  }

  /** A write was withdrawn, and may still be on its way. */
  withdrawn(): void {
    if (this.isGone) return
    // It would be closed in order after this one, and the kernel would go on delivering what was sent.
    if (this.#session.closed && this.#open === 1) {
      this.#reset()
      return
    }
    if (this.isSilent) this.#doubtedAt = this.#clock.now()
    this.mustAnswer(ALIVE_MS)
  }

  /**
   * The connection is reset unless the other end says that it has got all that was sent so far (to a PING). Whatever else
   * comes only delays that: an answer may wait behind a large one, but perhaps only the way there is cut.
   */
  mustAnswer(withinMs: number): void {
    if (this.isGone) return
    let cancelLook: () => void
    const cancel = (): void => cancelLook()
    const look = (leftMs: number): void => {
      cancelLook = this.#clock.after(leftMs, () => {
        const more = this.#heardAt + withinMs - this.#clock.now()
        if (more > 0) look(more)
        else this.#reset()
      })
    }
    look(withinMs)
    this.#pending.add(cancel)
    this.#ask(() => {
      this.#pending.delete(cancel)
      cancel()
    })
  }

  #ask(answered: () => void = () => undefined): void {
    this.#session.ping(error => {
      if (error !== null) return
      this.heard()
      answered()
    })
  }

  /** @throws when it takes no more requests */
  request(headers: OutgoingHttpHeaders, hasBody: boolean): ClientHttp2Stream {
    if (!this.isUsable) throw new Error('the connection takes no more requests')
    this.#requests++
    const stream = this.#session.request(headers, { endStream: !hasBody })
    this.#open++
    stream.once('close', () => this.#open--)
    return stream
  }

  /** No new requests; it closes when the present ones have ended. */
  retire(): void {
    this.#session.close()
  }

  /** Close it now; a write that was withdrawn and that is not delivered yet never will be. */
  destroy(): void {
    if (this.#pending.size > 0) this.#reset()
    else this.#session.destroy()
  }

  /** Close it; the kernel drops what it has not delivered yet. */
  #reset(): void {
    this.trouble ??= new Error('the other end does not answer')
    this.socket.resetAndDestroy()
  }
}
