// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import { ConnectionLimiter, type ConnectionLimits, type Connection } from './connection-limiter.js'
import { afterInput, limitBodyTime, sendTimeout, type RequestTimeouts } from './request-timeouts.js'
import { endOf, type RemoteEnd, type Sources } from './sources.js'

/** Options of `Connections`. */
export interface ConnectionsOptions {
  /** The listener's configured address, for the log. */
  readonly address: string
  readonly limits: ConnectionLimits & RequestTimeouts & { readonly keepAliveForStrangers: boolean }
  readonly sources: Sources
  readonly isSecure: boolean
}

interface ConnectionsSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly onEvicted?: () => void
}

interface TrackedConnection extends Connection {
  /** Cancels the time limit for its first request. */
  cancel: () => void
  /** Requests whose answers must wait for the ones before them, in order. */
  readonly waiting: (() => void)[]
}

/** Requests that a client may pipeline; each occupies memory for its headers. */
const MAX_AHEAD = 4

/** Connections that were closed to make room are logged at most this often. */
const LOG_EVERY_MS = 60_000

/**
 * Identifies a connection by both of its ends, since a client may connect from one port to several of our addresses. Over
 * TLS a request's socket is not the object that the `connection` event passed.
 */
const keyOf = ({ address, port, ours }: RemoteEnd): string =>
  `${address} ${port} ${ours?.address} ${ours?.port}`

/** Whether a client no longer waits for an answer: Node.js ends its side when the client has ended its own. */
export const hasLeft = ({ socket }: Pick<IncomingMessage, 'socket'>): boolean =>
  socket.destroyed || socket.writableEnded

/** The open connections of one listener: keeps them within the limits and closes those whose requests take too long. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #seams: ConnectionsSeams
  readonly #limiter: ConnectionLimiter
  readonly #open = new Map<string, TrackedConnection & { readonly socket: Socket }>()
  #evictedCount = 0
  #loggedAt = -Infinity

  constructor(options: ConnectionsOptions, seams: ConnectionsSeams) {
    this.#options = options
    this.#seams = seams
    this.#limiter = new ConnectionLimiter(options.limits, options.sources, seams.random)
  }

  /** Connections closed to make room, since the start. */
  get evicted(): number {
    return this.#evictedCount
  }

  /** A connection was opened. */
  opened(socket: Socket): void {
    const { clock } = this.#seams
    const end = endOf(socket)
    const key = keyOf(end)
    // `serveAsPlain` hands a known connection back to Node.js.
    if (this.#open.get(key)?.socket === socket) return
    this.#options.sources.opened?.(socket)
    const connection = {
      ...end,
      socket,
      requests: 0,
      activeAt: clock.now(),
      // A reset also frees what its client has not read, which the kernel counts as our memory.
      end: () => void socket.resetAndDestroy(),
      cancel: afterInput(clock, this.#options.limits.headerMs, () => this.#cut(socket)),
      waiting: [],
    }
    this.#open.set(key, connection)
    socket.once('close', () => {
      connection.cancel()
      this.#limiter.remove(connection)
      if (this.#open.get(key) === connection) this.#open.delete(key)
    })
    const ended = this.#limiter.admit(connection)
    if (ended !== undefined) this.#noteEvicted(ended)
  }

  /**
   * The headers of a request have arrived. Requests of one connection are served one after the other: Node.js
   * would handle all pipelined ones at once and keep their responses in memory.
   * @param serve not called when the connection ends before its turn, or when its client sends too many ahead
   */
  requested(request: IncomingMessage, response: ServerResponse, serve: () => void): void {
    const connection = this.#of(request)
    if (connection === undefined || connection.waiting.length >= MAX_AHEAD) {
      request.socket.destroy()
      return
    }
    const begin = (): void => {
      if (hasLeft(request)) return
      this.#serve(connection, request, response)
      serve()
    }
    if (connection.requests === 0) begin()
    else connection.waiting.push(begin)
  }

  /** The connection speaks another protocol now; it counts as busy until it closes. */
  upgraded(request: IncomingMessage): void {
    const connection = this.#of(request)
    if (connection !== undefined) this.#begin(connection)
  }

  /** The connection is limited by its user from now on, who has authenticated the client: it no longer counts here. */
  released(request: IncomingMessage): void {
    const connection = this.#of(request)
    if (connection === undefined) return
    connection.cancel()
    this.#limiter.remove(connection)
  }

  /** Whether it is gone, or another request of it is being answered. */
  isBusy(request: IncomingMessage): boolean {
    return this.#of(request)?.requests !== 0
  }

  /** Close all that are still open, at once. */
  endAll(): void {
    for (const { socket } of this.#open.values()) socket.destroy()
  }

  /** No request came in time. A plain-text answer would make no sense to a TLS client, so that one is just disconnected. */
  #cut(socket: Socket): void {
    if (this.#options.isSecure) socket.destroy()
    else sendTimeout(socket)
  }

  #of(request: IncomingMessage): TrackedConnection | undefined {
    return this.#open.get(keyOf(endOf(request.socket)))
  }

  #serve(connection: TrackedConnection, request: IncomingMessage, response: ServerResponse): void {
    const { clock } = this.#seams
    const { limits } = this.#options
    this.#begin(connection)
    response.once('close', () => {
      connection.requests--
      connection.activeAt = clock.now()
      connection.waiting.shift()?.()
    })
    if (!limits.keepAliveForStrangers && !this.#limiter.isMember(connection))
      response.shouldKeepAlive = false
    limitBodyTime(request, response, limits, clock)
  }

  #begin(connection: TrackedConnection): void {
    connection.cancel()
    connection.requests++
    connection.activeAt = this.#seams.clock.now()
  }

  #noteEvicted({ address: from }: Connection): void {
    const { clock, log, onEvicted } = this.#seams
    this.#evictedCount++
    onEvicted?.()
    if (clock.now() - this.#loggedAt < LOG_EVERY_MS) return
    this.#loggedAt = clock.now()
    const { address } = this.#options
    const { size } = this.#limiter
    const fields = { address, from, open: size, evictedSoFar: this.#evictedCount }
    log.warn('too many connections: some are closed to make room', fields)
  }
}
