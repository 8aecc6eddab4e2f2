// SPDX-License-Identifier: Apache-2.0
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../core/clock.js'
import { TimeoutError } from '../../core/errors.js'
import type { Material } from '../../kube/credentials.js'
import { makeAgent, retire } from '../../kube/kept-agent.js'

/** One request to upstream. */
export interface UpstreamCall {
  readonly method: string
  readonly url: string
  /** Name, value, name, value. */
  readonly headers: string[]
  /** For an answer to begin, once everything was sent; undefined: no limit. */
  readonly answerMs: number | undefined
  /** Use a connection of the pool: only for what may safely be sent twice. */
  readonly isPooled: boolean
}

/** What upstream answered. */
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
  /** It went out on a kept connection that had died: nobody read it. */
  wasStale(error: unknown): boolean
}

const CONNECT_MS = 5_000
/** A free connection that lies idle longer is closed by us, before a middlebox forgets it. */
const IDLE_MS = 30_000
const MAX_FREE = 16

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

/** Connections to upstream on which nobody is but the callers themselves. */
export class UpstreamPool {
  readonly #clock: Clock
  readonly #road: () => Promise<Material>
  #agents: Agents | undefined

  /** @param road the way to upstream, without credentials */
  constructor(clock: Clock, road: () => Promise<Material>) {
    this.#clock = clock
    this.#road = road
  }

  /** Where upstream is. Rejects with CredentialsError. */
  async server(): Promise<URL> {
    return (await this.#road()).server
  }

  /** Begin a call; its body is still to be written. Rejects with CredentialsError. */
  async open(call: UpstreamCall): Promise<OpenCall> {
    const { server, tls } = await this.#road()
    const agents = this.#agentsFor(tls)
    const request = (server.protocol === 'https:' ? https : http).request({
      protocol: server.protocol,
      // URL keeps the brackets of an IPv6 address, sockets do not take them.
      hostname: server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: server.port,
      method: call.method,
      path: server.pathname.replace(/\/$/, '') + call.url,
      // Kept as they came, repeated ones too.
      headers: call.headers as unknown as http.OutgoingHttpHeaders,
      setHost: false,
      agent: call.isPooled ? agents.kept : agents.fresh,
    })
    const wasStale = (error: unknown): boolean => {
      const { code } = error as NodeJS.ErrnoException
      return request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')
    }
    return { request, answer: this.#answer(request, call.answerMs), wasStale }
  }

  /** Close what is idle; what runs goes on. */
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

  #answer(request: ClientRequest, answerMs: number | undefined): Promise<UpstreamAnswer> {
    const clock = this.#clock
    let cancel: () => void = () => undefined
    const limit = (ms: number): void => {
      cancel()
      cancel = clock.after(ms, () => void request.destroy(new TimeoutError(ms)))
    }
    let hasAnswered = false
    limit(CONNECT_MS)
    request.once('socket', socket => {
      const connected = (): void => {
        cancel()
        // Sending may take its time; after that the answer is due.
        const due = answerMs
        if (due === undefined || hasAnswered) return
        if (request.writableFinished) limit(due)
        else request.once('finish', () => hasAnswered || limit(due))
      }
      socket.setKeepAlive(true, 15_000)
      if (socket.connecting)
        socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected) // prettier-ignore
      else connected()
    })
    const answer = new Promise<UpstreamAnswer>((resolve, reject) => {
      request.once('response', response => resolve({ kind: 'response', response }))
      request.once('upgrade', (response, socket, head) =>
        resolve({ kind: 'upgrade', response, socket, head }),
      )
      // Later errors reach the reader of the answer; unheard they would end the process.
      request.on('error', reject)
      request.once('close', () => reject(new Error('the connection was closed')))
    })
    return answer.finally(() => {
      hasAnswered = true
      cancel()
    })
  }
}
