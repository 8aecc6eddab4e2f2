// SPDX-License-Identifier: Apache-2.0
import type http from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.js'
import type { Credentials, Material } from './credentials.js'
import { dropIdle, isBusy, makeAgent, retire, withSpare, type KeptAgent } from './kept-agent.js'
import { openResponse, NoAnswerError, type OpenResponse, type KubeCall } from './open-response.js'
import { orAborted } from './or-aborted.js'
import { Http2Connector } from './http2-connector.js'
import { openOverHttp2 } from './http2-response.js'

interface RequestSenderSeams {
  readonly credentials: Credentials
  readonly clock: Clock
  /** Called for each response whose headers have arrived. */
  readonly onAnswer: () => void
}

interface RequestSenderOptions {
  readonly userAgent: string
  /** So many of HTTP/1.1 at the same time, instead of one of HTTP/2. */
  readonly connections: number | undefined
}

/**
 * After so many calls in a row without an answer the next connection is opened, although this one answers PINGs: behind a
 * load balancer it may lead to a server that is well.
 */
const MOST_UNANSWERED = 3
/** A server that refused a request without credentials is tried without them again after this time. */
const ANONYMOUS_AGAIN_MS = 3_600_000

/**
 * Whether sending the request twice has the effect of sending it once. A patch with a resourceVersion does not: if the server
 * carried out the first one, it refuses the second with a conflict.
 */
const mayBeRepeated = ({ method, body }: KubeCall): boolean => {
  if (method === 'GET') return true
  const isDeclarative = /(merge|apply)-patch/.test(body?.type ?? '')
  return isDeclarative && !body!.text.includes('"resourceVersion"')
}

const sameMaterial = (a: Material, b: Material): boolean =>
  a === b ||
  (a.tls === b.tls &&
    a.server.href === b.server.href &&
    JSON.stringify(a.headers) === JSON.stringify(b.headers))

/** Sends requests with the present credentials over kept connections, and repeats what may be repeated. */
export class RequestSender {
  readonly #credentials: Credentials
  readonly #clock: Clock
  readonly #onAnswer: () => void
  readonly #options: RequestSenderOptions
  /** Until when anonymous calls are sent with credentials too. */
  #credentialsUntil = -Infinity
  #kept: KeptAgent | undefined
  readonly #http2: Http2Connector | undefined
  /** Calls since the last answer over HTTP/2 that got none in time. */
  #unanswered = 0

  constructor({ credentials, clock, onAnswer }: RequestSenderSeams, options: RequestSenderOptions) {
    this.#credentials = credentials
    this.#clock = clock
    this.#onAnswer = onAnswer
    this.#options = options
    if (options.connections === undefined) this.#http2 = new Http2Connector(clock)
  }

  /** Send; after a 401, send again if the credentials have changed meanwhile. @returns the response, whatever its status */
  async send(call: KubeCall, signal: AbortSignal): Promise<OpenResponse> {
    const used = await orAborted(this.#credentials.material(), signal)
    const isAnonymous = call.isAnonymous === true && this.#clock.now() >= this.#credentialsUntil
    if (isAnonymous) return this.#sendAnonymous(call, used, signal)
    const answer = await this.#sendOrRepeat({ ...call, isAnonymous: false }, used, signal)
    // A call with a token of its own does not use our credentials.
    if (answer.status !== 401 || call.token !== undefined) return answer
    this.#credentials.refused()
    try {
      const next = await orAborted(this.#credentials.material(), signal)
      if (sameMaterial(used, next)) return answer
      await answer.end()
      return await this.#sendOrRepeat({ ...call, isAnonymous: false }, next, signal)
    } catch (error) {
      await answer.end()
      throw error
    }
  }

  /** Send without credentials; a server that refuses that gets them for a while. */
  async #sendAnonymous(call: KubeCall, used: Material, signal: AbortSignal): Promise<OpenResponse> {
    const answer = await this.#sendOrRepeat(call, used, signal)
    const { status } = answer
    if (status !== 401 && status !== 403) return answer
    await answer.end()
    this.#credentialsUntil = this.#clock.now() + ANONYMOUS_AGAIN_MS
    return this.send(call, signal)
  }

  /** Send; once more when a kept-alive connection turned out to be dead, if the call may be repeated. */
  async #sendOrRepeat(
    call: KubeCall,
    material: Material,
    signal: AbortSignal,
  ): Promise<OpenResponse> {
    try {
      return await this.#opened(call, material, signal)
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error
      const { fate, cause } = error
      if (fate === 'unknown') throw cause
      this.#dropIdle()
      if (fate !== 'unprocessed' && !mayBeRepeated(call)) throw cause
    }
    try {
      return await this.#opened(call, material, signal)
    } catch (error) {
      throw error instanceof NoAnswerError ? error.cause : error
    }
  }

  async #opened(call: KubeCall, material: Material, signal: AbortSignal): Promise<OpenResponse> {
    const caller = { material, userAgent: this.#options.userAgent }
    // After an anonymous request, apiservers close a connection that others use. A sign of life waits for nobody anyhow.
    const http2 = call.isAnonymous === true ? undefined : this.#http2
    let connection = await http2?.get(material, signal)
    // Others that waited for the same one may have used it up. Each turn, one of them at least gets its request through.
    while (connection?.isFull === true) connection = await http2!.get(material, signal)
    const answer = await (connection === undefined
      ? openResponse(call, { ...caller, agent: this.#agentFor(call, material) }, signal)
      : openOverHttp2(call, { ...caller, connection }, signal))
    if (connection !== undefined) this.#unanswered = 0
    this.#onAnswer()
    return answer
  }

  #agentFor({ isUrgent }: KubeCall, material: Material): http.Agent {
    const kept = this.#keptFor(material)
    return isUrgent === true && isBusy(kept) ? makeAgent(material.tls, { keepAlive: false }) : kept
  }

  #keptFor(material: Material): http.Agent {
    const { tls, server } = material
    if (this.#kept?.tls !== tls || this.#kept?.origin !== server.origin) {
      // Running calls keep their connections until they end; new ones connect with the present TLS material.
      if (this.#kept !== undefined) retire(this.#kept.agent)
      const { connections } = this.#options
      const agent = makeAgent(tls, connections === undefined ? {} : { maxSockets: connections })
      const spare = (): Socket | undefined => this.#http2?.takeSpare(material)
      this.#kept = { tls, origin: server.origin, agent: withSpare(agent, spare) }
    }
    return this.#kept.agent
  }

  /** A call got no answer in time. Whoever vanished without closing one connection has probably left the others, too. */
  unanswered({ isAnonymous }: KubeCall): void {
    this.#dropIdle()
    this.#http2?.doubt()
    // It had a connection of its own.
    if (isAnonymous === true) return
    this.#unanswered++
    if (this.#unanswered >= MOST_UNANSWERED) this.#http2?.renew()
  }

  /** The next calls go over new connections. */
  reconnect(): void {
    this.#dropIdle()
    this.#http2?.renew()
  }

  /** Close all connections. */
  close(): void {
    this.#kept?.agent.destroy()
    this.#http2?.close()
  }

  #dropIdle(): void {
    if (this.#kept !== undefined) dropIdle(this.#kept.agent)
  }
}
