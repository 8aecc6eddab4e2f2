// SPDX-License-Identifier: Apache-2.0
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.js'
import { KEEPALIVE_MS } from './kept-agent.js'

/** The kernel sends ten of these, a second apart, before it gives a connection up. */
const ASKING_MS = 1_000
const ASK_FOR_MS = 15_000

/**
 * A watch may be silent for hours, and a server that vanished is silent too. After a request that got no answer, every
 * open response is in doubt: at the server's next sign of life the kernel probes the other end of each once, for 104
 * bytes. A dead connection breaks within eleven seconds.
 */
export class HalfOpenCheck {
  readonly #clock: Clock
  /** One of them may carry several responses. */
  readonly #open = new Map<object, Socket>()
  #inDoubt = false
  #cancel: () => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** An answer goes on over this connection. The returned function says that it has ended. */
  opened(socket: Socket): () => void {
    socket.setKeepAlive(true, KEEPALIVE_MS)
    const response = {}
    this.#open.set(response, socket)
    return () => void this.#open.delete(response)
  }

  /** A request got no answer. */
  unanswered(): void {
    this.#inDoubt = true
  }

  /** The server answered a request. */
  answered(): void {
    if (!this.#inDoubt) return
    this.#inDoubt = false
    this.#cancel()
    for (const socket of this.#open.values()) socket.setKeepAlive(true, ASKING_MS)
    this.#cancel = this.#clock.after(ASK_FOR_MS, () => {
      for (const socket of this.#open.values()) socket.setKeepAlive(true, KEEPALIVE_MS)
    })
  }

  end(): void {
    this.#cancel()
  }
}
