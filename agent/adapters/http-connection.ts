// SPDX-License-Identifier: Apache-2.0
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Clock } from '../../core/clock.js'
import { HttpAnswer } from './http-answer.js'

/** What is read of a body, and for how long, so that its connection can be kept. */
const BODY_LIMIT = 64 * 1024
const BODY_MS = 1_000

/** How a request failed. */
export class FailedRequest extends Error {
  /** On a kept connection that the server closed while it lay idle; this says nothing about the server. */
  readonly wasStale: boolean

  constructor(cause: Error, wasStale: boolean) {
    super(cause.message, { cause })
    this.wasStale = wasStale
  }
}

interface Asking {
  readonly resolve: (status: number) => void
  readonly reject: (error: Error) => void
  readonly answer: HttpAnswer
}

const hungUp = (): Error =>
  Object.assign(new Error('the connection ended without an answer'), { code: 'ECONNRESET' })

/** One HTTP/1.1 connection of a prober: one request after the other, of each answer the status. */
export class HttpConnection {
  readonly #socket: Socket
  readonly #clock: Clock
  /** It can be used again. */
  readonly #onIdle: () => void
  #asking: Asking | undefined
  #answered = 0
  #error: Error | undefined
  #cancelBody: (() => void) | undefined

  /** @param socket connecting or connected; it is this connection's alone from now on */
  constructor(socket: Socket, clock: Clock, onIdle: () => void) {
    this.#socket = socket
    this.#clock = clock
    this.#onIdle = onIdle
    socket.on('data', chunk => this.#onData(chunk))
    socket.on('error', error => (this.#error = error))
    socket.once('close', () => {
      this.#stopWaiting()
      this.#fail(this.#error ?? hungUp())
    })
  }

  /** Neither side has begun to close it. */
  get isOpen(): boolean {
    return this.#socket.writable
  }

  /** No more requests: it ends when what was written has left. */
  end(): void {
    this.#socket.destroySoon()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /**
   * Send a request; resolves with the answer's status as soon as it is known.
   * @throws FailedRequest with the system's error as its cause, or the reason of `signal`
   */
  async ask(request: string, signal: AbortSignal): Promise<number> {
    const cut = (): void => void this.#socket.destroy()
    signal.addEventListener('abort', cut, { once: true })
    try {
      return await this.#ask(request)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw error
    } finally {
      signal.removeEventListener('abort', cut)
    }
  }

  #ask(request: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#asking = { resolve, reject, answer: new HttpAnswer() }
      const socket = this.#socket
      // Nothing is said to a server before its certificate has been checked.
      if (socket instanceof TLSSocket && this.#answered === 0)
        socket.once('secureConnect', () => socket.write(request))
      else socket.write(request)
    })
  }

  #onData(chunk: Buffer): void {
    const asking = this.#asking
    try {
      if (asking === undefined) throw new Error('an answer came to what nobody asked')
      asking.answer.push(chunk)
    } catch (error) {
      this.#error = error as Error
    }
    // The status is the answer, whatever is wrong with what follows.
    const status = asking?.answer.status
    if (status !== undefined) asking!.resolve(status)
    if (this.#error !== undefined) this.destroy()
    else if (status !== undefined) this.#readBody(asking!.answer)
  }

  /** Read the rest of the body only to free the connection, within limits of our own. */
  #readBody(answer: HttpAnswer): void {
    if (answer.bodyBytes > BODY_LIMIT) this.destroy()
    if (!answer.isWhole) {
      this.#cancelBody ??= this.#clock.after(BODY_MS, () => this.destroy())
      return
    }
    this.#stopWaiting()
    this.#asking = undefined
    this.#answered++
    if (answer.isKept) this.#onIdle()
    else this.end()
  }

  #stopWaiting(): void {
    this.#cancelBody?.()
    this.#cancelBody = undefined
  }

  #fail(error: Error): void {
    const code = (error as NodeJS.ErrnoException).code
    const isCut = code === 'ECONNRESET' || code === 'EPIPE'
    const wasStale = isCut && this.#answered > 0 && this.#asking?.answer.isEmpty === true
    this.#asking?.reject(new FailedRequest(error, wasStale))
    this.#asking = undefined
  }
}
