// SPDX-License-Identifier: Apache-2.0
import type { Server, Socket } from 'node:net'
import type { Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import { Pace, type PaceLimits } from './pace.js'
import { endOf, type Sources } from './sources.js'

/** Options of `Handshakes`. */
export interface HandshakeOptions {
  /** The listener's configured address, for the log. */
  readonly address: string
  readonly limits: PaceLimits
  readonly sources: Sources
}

/** Shortest time between two log lines about waiting connections. */
const LOG_EVERY_MS = 60_000

/**
 * Limits the rate of TLS handshakes, in total and per source: each costs a signature before the client has authenticated. A
 * connection above the rate stays open, and counted, until it may begin.
 */
export class Handshakes {
  readonly #options: HandshakeOptions
  readonly #clock: Clock
  readonly #log: Logger
  readonly #pace: Pace
  #delayed = 0
  #loggedAt = -Infinity

  constructor(
    options: HandshakeOptions,
    { clock, log }: { readonly clock: Clock; readonly log: Logger },
  ) {
    this.#options = options
    this.#clock = clock
    this.#log = log
    this.#pace = new Pace(options.limits, clock)
  }

  /** Connections that wait for their handshake now. */
  get waiting(): number {
    return this.#pace.waiting
  }

  /** Connections that had to wait, since the start. */
  get delayed(): number {
    return this.#delayed
  }

  /**
   * From now on the server begins a connection's handshake only when the rate allows it. Other listeners of the event are
   * called at once.
   */
  hold(server: Server): void {
    const begins = server.listeners('connection')
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) =>
      this.#opened(socket, () => {
        for (const begin of begins) begin.call(server, socket)
      }),
    )
  }

  #opened(socket: Socket, handshake: () => void): void {
    const ignore = (): void => undefined
    const { sources } = this.#options
    const giveUp = this.#pace.take(sources.keyOf(endOf(socket)) ?? '', () => {
      socket.off('error', ignore)
      handshake()
    })
    if (giveUp === undefined) return
    // While it waits nobody else listens; 'close' follows an error.
    socket.on('error', ignore)
    socket.once('close', giveUp)
    this.#delayed++
    this.#note(socket)
  }

  #note(socket: Socket): void {
    const now = this.#clock.now()
    if (now - this.#loggedAt < LOG_EVERY_MS) return
    this.#loggedAt = now
    const { address } = this.#options
    const fields = { address, from: endOf(socket).address, delayedSoFar: this.#delayed }
    this.#log.warn('too many new connections at once: some wait for their handshake', fields)
  }
}
