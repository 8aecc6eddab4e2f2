// SPDX-License-Identifier: Apache-2.0
import type { Socket } from 'node:net'

/** What the agent under test sent and got over some connections, with HTTP and TLS, without TCP and IP. */
export interface WireCount {
  readonly connections: number
  readonly sentByAgent: number
  readonly sentToAgent: number
}

/** Adds up the bytes of sockets, of those that are closed too. */
export class WireCounter {
  readonly #live = new Set<Socket>()
  #connections = 0
  #read = 0
  #written = 0

  watch(socket: Socket): void {
    if (this.#live.has(socket)) return
    this.#live.add(socket)
    this.#connections++
    socket.once('close', () => {
      this.#live.delete(socket)
      this.#read += socket.bytesRead
      this.#written += socket.bytesWritten
    })
  }

  get count(): WireCount {
    let read = this.#read
    let written = this.#written
    for (const socket of this.#live) {
      read += socket.bytesRead
      written += socket.bytesWritten
    }
    return { connections: this.#connections, sentByAgent: read, sentToAgent: written }
  }

  /** Cut everything, as a node that loses power. */
  destroy(): void {
    for (const socket of this.#live) socket.destroy()
  }
}
