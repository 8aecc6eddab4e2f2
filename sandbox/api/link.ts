// SPDX-License-Identifier: Apache-2.0
import type { Socket } from 'node:net'

/** How a client's way to the API is broken. */
export type Cut = 'refused' | 'silent'

/** One client's way to the API. A client is known by its token, so that its link can be cut while others keep theirs. */
export class Link {
  readonly client: string
  #state: 'up' | Cut = 'up'
  readonly #sockets = new Set<Socket>()
  readonly #waiting = new Set<() => void>()

  constructor(client: string) {
    this.client = client
  }

  get state(): 'up' | Cut {
    return this.#state
  }

  /** Remember whose connection this is. */
  adopt(socket: Socket): void {
    if (this.#sockets.has(socket)) return
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /** Whether this connection is the client's. */
  has(socket: Socket): boolean {
    return this.#sockets.has(socket)
  }

  /** Refused: open connections are reset at once. Silent: nothing more is sent, nothing is answered. */
  cut(how: Cut): void {
    this.#state = how
    if (how === 'refused') for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  /** What was held back goes out now, as after a time of lost packets. */
  heal(): void {
    this.#state = 'up'
    const held = [...this.#waiting]
    this.#waiting.clear()
    for (const go of held) go()
  }

  /** Call `go` now, or as soon as the link is no longer silent. The returned function takes it back. */
  whenUp(go: () => void): () => void {
    if (this.#state === 'up') go()
    else this.#waiting.add(go)
    return () => this.#waiting.delete(go)
  }
}
