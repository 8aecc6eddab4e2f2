// SPDX-License-Identifier: Apache-2.0
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.js'
import { HttpConnection } from './http-connection.js'

const IDLE_CLOSE_MS = 60_000
const IDLE_LIMIT = 512

export interface Origin {
  readonly host: string
  readonly port: number
  /** As a `Host` header has it; IPv6 in brackets. */
  readonly text: string
}

/** Connections to servers that are verified in the same way. */
export class HttpConnections {
  readonly #clock: Clock
  readonly #connect: (origin: Origin) => Socket
  readonly #all = new Set<HttpConnection>()
  readonly #idle = new Map<string, HttpConnection[]>()
  #idleCount = 0
  #isRetired = false

  constructor(clock: Clock, open: (origin: Origin) => Socket) {
    this.#clock = clock
    this.#connect = open
  }

  /** A kept connection, the last used first. */
  takeIdle({ text }: Origin): HttpConnection | undefined {
    const idle = this.#idle.get(text)
    for (let found = idle?.pop(); found !== undefined; found = idle?.pop()) {
      this.#idleCount--
      if (found.isOpen) return found
    }
    return undefined
  }

  open(origin: Origin, isKept: boolean): HttpConnection {
    const socket = this.#connect(origin)
    socket.setNoDelay(true)
    const connection = new HttpConnection(socket, this.#clock, () => {
      if (isKept) this.#keep(origin.text, connection)
      else connection.end()
    })
    this.#all.add(connection)
    socket.once('close', () => {
      this.#all.delete(connection)
      this.#forget(origin.text, connection)
    })
    // Without a TCP keepalive nobody would ever learn that the other end is gone.
    if (isKept) socket.setTimeout(IDLE_CLOSE_MS, () => socket.destroy())
    return connection
  }

  /** No connection is kept any longer; what is under way comes to its own end, which is near. */
  retire(): void {
    this.#isRetired = true
    for (const connection of [...this.#idle.values()].flat()) connection.destroy()
  }

  close(): void {
    this.#isRetired = true
    for (const connection of this.#all) connection.destroy()
  }

  #keep(origin: string, connection: HttpConnection): void {
    if (this.#isRetired || this.#idleCount >= IDLE_LIMIT) {
      connection.end()
      return
    }
    const idle = this.#idle.get(origin) ?? []
    this.#idle.set(origin, idle)
    idle.push(connection)
    this.#idleCount++
  }

  #forget(origin: string, connection: HttpConnection): void {
    const idle = this.#idle.get(origin)
    const place = idle?.indexOf(connection) ?? -1
    if (place >= 0) {
      idle!.splice(place, 1)
      this.#idleCount--
    }
    if (idle?.length === 0) this.#idle.delete(origin)
  }
}
