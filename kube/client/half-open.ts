// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { KEEPALIVE_MS } from './kept-agent.js'
import type { OpenResponse } from './open-response.js'

/** The kernel sends ten of these, a second apart, before it gives a connection up. */
const ASKING_MS = 1_000
const ASK_FOR_MS = 15_000
const ANSWER_MS = 11_000

/** How the other end of a response is asked. */
type Askable = Pick<OpenResponse, 'socket' | 'mustAnswer'>

/**
 * A watch may be silent for hours, and a server that vanished is silent too. After a request that got no answer, every
 * open response is in doubt: at the server's next sign of life the kernel probes the other end of each once, for 104
 * bytes. A dead connection breaks within eleven seconds. One of HTTP/2 is asked by a PING, too: on it, what nobody
 * acknowledges (the request, for one) keeps the kernel from probing.
 */
export class HalfOpenCheck {
  readonly #clock: Clock
  readonly #open = new Set<Askable>()
  #inDoubt = false
  #cancel: () => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** An answer goes on over this connection. The returned function says that it has ended. */
  opened({ socket, mustAnswer }: Askable): () => void {
    socket.setKeepAlive(true, KEEPALIVE_MS)
    const response = mustAnswer === undefined ? { socket } : { socket, mustAnswer }
    this.#open.add(response)
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
    // One connection may carry several responses.
    const connections = new Map([...this.#open].map(one => [one.socket, one]))
    for (const { socket, mustAnswer } of connections.values()) {
      socket.setKeepAlive(true, ASKING_MS)
      mustAnswer?.(ANSWER_MS)
    }
    this.#cancel = this.#clock.after(ASK_FOR_MS, () => {
      for (const { socket } of this.#open) socket.setKeepAlive(true, KEEPALIVE_MS)
    })
  }

  end(): void {
    this.#cancel()
  }
}
