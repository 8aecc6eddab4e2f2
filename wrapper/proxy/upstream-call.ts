// SPDX-License-Identifier: Apache-2.0
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { hostOf } from '../../core/address.js'
import type { Clock } from '../../core/clock.js'
import { TimeoutError } from '../../core/errors.js'
import type { Material } from '../../kube/client/credentials.js'
import { dropIdle, makeAgent, retire } from '../../kube/client/kept-agent.js'
import { PASSED_BY } from './headers.js'

/** One request to the apiserver. */
export interface UpstreamCall {
  readonly method: string
  readonly url: string
  /** Name, value, name, value. */
  readonly headers: string[]
  /**
   * Time limit for the response headers, once the request was sent, and for each part of a body to go out; undefined: as
   * long as the apiserver accepts connections.
   */
  readonly answerMs: number | undefined
  /** Use a kept connection: only for requests without a body that may be sent twice. */
  readonly isPooled: boolean
}

/** The apiserver's response. */
export type UpstreamAnswer =
  | { readonly kind: 'response'; readonly response: IncomingMessage }
  | {
      readonly kind: 'upgrade'
      readonly response: IncomingMessage
      readonly socket: Duplex
      readonly head: Buffer
    }

/** An open call. */
export interface OpenCall {
  readonly request: ClientRequest
  /** Rejects with the system's error, or TimeoutError. */
  readonly answer: Promise<UpstreamAnswer>
  /** It was sent on a kept connection that turned out to be closed: a new one may work. */
  wasStale(error: unknown): boolean
}

const CONNECT_MS = 5_000
/** TCP keepalive probes a silent connection, which may carry a watch, after this time; client-go pings after the same time. */
const KEEPALIVE_MS = 30_000
/**
 * After this much silence the connection may be dead. A kept connection is given up; a new one is kept only if the apiserver
 * accepts another connection.
 */
const SILENT_MS = 5_000
/** An idle connection is closed after this time, before a middlebox drops it. */
const IDLE_MS = 30_000
const MAX_FREE = 16
/** Limit of all headers of a response together. */
const MAX_HEADER_BYTES = 64 << 10

/** Nothing arrived on a kept connection. */
class SilentError extends Error {}

interface Agents {
  readonly tls: Material['tls']
  readonly kept: http.Agent
  readonly fresh: http.Agent
}

const makeAgents = (tls: Material['tls']): Agents => ({
  tls,
  kept: makeAgent(tls, { maxSockets: Infinity, maxFreeSockets: MAX_FREE, timeout: IDLE_MS }),
  fresh: makeAgent(tls, { keepAlive: false, maxSockets: Infinity }),
})

/** Connections to the apiserver that carry the callers' credentials, never ours. */
export class UpstreamPool {
  readonly #clock: Clock
  readonly #upstream: () => Promise<Material>
  #agents: Agents | undefined
  #look: { readonly at: number; readonly found: Promise<boolean> } | undefined

  /** @param upstream the apiserver's address and TLS material, without credentials */
  constructor(clock: Clock, upstream: () => Promise<Material>) {
    this.#clock = clock
    this.#upstream = upstream
  }

  /** The apiserver's address. Rejects with CredentialsError. */
  async server(): Promise<URL> {
    return (await this.#upstream()).server
  }

  /** Begin a request; the caller writes its body. Rejects with CredentialsError. */
  async open(call: UpstreamCall): Promise<OpenCall> {
    const request = await this.#begin(call)
    const wasStale = (error: unknown): boolean => {
      const { code } = error as NodeJS.ErrnoException
      const isGone = code === 'ECONNRESET' || code === 'EPIPE' || error instanceof SilentError
      return request.reusedSocket && isGone
    }
    return { request, answer: this.#answer(request, call), wasStale }
  }

  async #begin(call: Omit<UpstreamCall, 'answerMs'>): Promise<ClientRequest> {
    const { server, tls } = await this.#upstream()
    const agents = this.#agentsFor(tls)
    return (server.protocol === 'https:' ? https : http).request({
      protocol: server.protocol,
      hostname: hostOf(server),
      port: server.port,
      method: call.method,
      path: server.pathname.replace(/\/$/, '') + call.url,
      // As they arrived, with repeated ones.
      headers: [...call.headers, ...PASSED_BY] as unknown as http.OutgoingHttpHeaders,
      setHost: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      agent: call.isPooled ? agents.kept : agents.fresh,
    })
  }

  /** Close idle connections; running requests continue. */
  close(): void {
    if (this.#agents === undefined) return
    this.#agents.kept.destroy()
    this.#agents.fresh.destroy()
  }

  #agentsFor(tls: Material['tls']): Agents {
    if (this.#agents === undefined || this.#agents.tls !== tls) {
      if (this.#agents !== undefined) retire(this.#agents.kept)
      this.#agents = makeAgents(tls)
    }
    return this.#agents
  }

  /**
   * Whether the apiserver accepts a new connection; no request is sent on it. One attempt serves all who ask
   * meanwhile.
   */
  #isThere(): Promise<boolean> {
    const now = this.#clock.now()
    if (this.#look === undefined || now - this.#look.at >= SILENT_MS)
      this.#look = { at: now, found: this.#connects() }
    return this.#look.found
  }

  async #connects(): Promise<boolean> {
    try {
      const request = await this.#begin({ method: 'GET', url: '/', headers: [], isPooled: false })
      return await new Promise<boolean>(resolve => {
        const cancel = this.#clock.after(CONNECT_MS, () => void request.destroy())
        const end = (isThere: boolean): void => {
          cancel()
          resolve(isThere)
          request.destroy()
        }
        onConnected(request, () => end(true))
        request.once('error', () => end(false)).once('close', () => end(false))
      })
    } catch {
      return false
    }
  }

  #answer(request: ClientRequest, { answerMs }: UpstreamCall): Promise<UpstreamAnswer> {
    const clock = this.#clock
    const cancels = [
      clock.after(CONNECT_MS, () => void request.destroy(new TimeoutError(CONNECT_MS))),
    ]
    let hasAnswered = false
    const cancel = (): void => cancels.splice(0).forEach(each => each())
    const listen = (): void => {
      cancels.push(clock.after(SILENT_MS, () => void doubt()))
    }
    const doubt = async (): Promise<void> => {
      if (request.reusedSocket) {
        dropIdle(this.#agents!.kept)
        request.destroy(new SilentError('a kept connection is silent'))
      } else if (!(await this.#isThere()))
        request.destroy(new Error('it is silent and accepts no new connection'))
      else if (!hasAnswered) listen()
    }
    onConnected(request, socket => {
      cancel()
      socket.setKeepAlive(true, KEEPALIVE_MS)
      if (hasAnswered) return
      listen()
      const due = (ms: number): void => {
        if (hasAnswered) return
        cancels.push(clock.after(ms, () => void request.destroy(new TimeoutError(ms))))
      }
      if (answerMs === undefined) return
      const sending = (sent: number): void => {
        const look = (): void => {
          if (request.writableFinished) return
          if (socket.bytesWritten === sent) request.destroy(new TimeoutError(answerMs))
          else sending(socket.bytesWritten)
        }
        cancels.push(clock.after(answerMs, look))
      }
      // The time limit begins when the request has been sent; until then some of its body must go out within that time.
      if (request.writableFinished) due(answerMs)
      else {
        request.once('finish', () => due(answerMs))
        sending(socket.bytesWritten)
      }
    })
    const answer = new Promise<UpstreamAnswer>((resolve, reject) => {
      request.once('response', response => resolve({ kind: 'response', response }))
      request.once('upgrade', (response, socket, head) =>
        resolve({ kind: 'upgrade', response, socket, head }),
      )
      // Later errors reach the reader of the response; without a listener they would end the process.
      request.on('error', reject)
      request.once('close', () => reject(new Error('the connection was closed')))
    })
    return answer.finally(() => {
      hasAnswered = true
      cancel()
    })
  }
}

/** Called when a request has a connection to go out on, a new one or a kept one. */
const onConnected = (request: ClientRequest, connected: (socket: Socket) => void): void => {
  request.once('socket', socket => {
    if (!socket.connecting) connected(socket)
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => connected(socket))
  })
}
