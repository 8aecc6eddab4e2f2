// SPDX-License-Identifier: Apache-2.0
import type http from 'node:http'
import type { Clock } from '../../core/clock.js'
import {
  CredentialsError,
  KubeStatusError,
  KubeUnreachableError,
  reasonOf,
  TimeoutError,
  WithheldError,
} from '../../core/errors.js'
import { HalfOpenCheck } from './half-open.js'
import { RequestLifetime } from './request-lifetime.js'
import type { TypedBody } from './codec.js'
import { parseExactJson } from '../../core/exact-json.js'
import type { Credentials, Material } from './credentials.js'
import {
  openResponse,
  nameOf,
  NoAnswerError,
  readBody,
  type OpenResponse,
  type KubeCall,
  type Sender,
} from './open-response.js'
import { parseRetryAfter } from './retry-after.js'
import { onSilence } from './silence.js'
import { answerError } from './status-error.js'
import { dropIdle, makeAgent, retire, type KeptAgent } from './kept-agent.js'

/** Limits of one call. */
export interface CallLimits {
  /** For the whole answer; with `idleMs` for its headers alone. */
  readonly timeoutMs: number
  /** An answer that has begun may take as long as it likes, but not be silent for longer than this. */
  readonly idleMs?: number
  readonly maxBytes: number
}

const MAX_ERROR_BYTES = 64 * 1024
/** A server that wants to know who asks for `/livez` is asked without credentials again after so long. */
const ANONYMOUS_AGAIN_MS = 3_600_000

/**
 * Whether sending it twice has the effect of sending it once. Not so for a patch with a resourceVersion: if the
 * server carried out the first one, it would refuse the second with a conflict.
 */
const mayBeRepeated = ({ method, body }: KubeCall): boolean => {
  if (method === 'GET') return true
  const bringsAbout = /(merge|apply)-patch/.test(body?.type ?? '')
  return bringsAbout && !body!.text.includes('"resourceVersion"')
}

/** Wait for a promise that cannot be aborted, but no longer than until the signal aborts. */
const orAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })

const sameMaterial = (a: Material, b: Material): boolean =>
  a === b ||
  (a.tls === b.tls &&
    a.server.href === b.server.href &&
    JSON.stringify(a.headers) === JSON.stringify(b.headers))

/** Errors that callers are promised, and that say more than "unreachable". */
const isOwnWord = (error: unknown): boolean =>
  error instanceof KubeStatusError ||
  error instanceof CredentialsError ||
  error instanceof WithheldError

/**
 * Requests to one apiserver over kept connections. Every call rejects with KubeStatusError, KubeUnreachableError,
 * CredentialsError, or the signal's reason, and not before its connection is closed or free again.
 */
export class KubeClient {
  readonly #credentials: Credentials
  readonly #clock: Clock
  readonly #userAgent: string
  readonly #lifetimes = new Set<RequestLifetime>()
  readonly #halfOpen: HalfOpenCheck
  readonly #agentOptions: http.AgentOptions
  /** Until when credentials go with every request. */
  #namedUntil = -Infinity
  #kept: KeptAgent | undefined
  #isClosed = false
  /** The newest `Date` header of a successful response, and when it arrived. */
  #served: { readonly dateMs: number; readonly at: number } | undefined

  /**
   * @param userAgent must differ between programs: SuperEdge's lite-apiserver caches by it and would give two
   * programs of one name each other's lists. It must not contain a version, or an upgrade would lose the cache.
   * @param more `connections`: at the same time, 32 by default
   */
  constructor(
    credentials: Credentials,
    clock: Clock,
    userAgent: string,
    { connections }: { readonly connections?: number | undefined } = {},
  ) {
    this.#agentOptions = connections === undefined ? {} : { maxSockets: connections }
    this.#credentials = credentials
    this.#clock = clock
    this.#userAgent = userAgent
    this.#halfOpen = new HalfOpenCheck(clock)
  }

  /**
   * The earliest that the server's clock can show now: its last `Date`, which has whole seconds, and the time
   * since.
   */
  serverTime(): number | undefined {
    if (this.#served === undefined) return undefined
    return this.#served.dateMs + this.#clock.now() - this.#served.at
  }

  /** Send, and parse the answer as JSON; whole numbers of 16 digits and more come as text, see `parseExactJson`. */
  async json(call: KubeCall, limits: CallLimits, signal: AbortSignal): Promise<unknown> {
    const { bytes } = await this.body(call, limits, signal)
    try {
      return parseExactJson(bytes.toString('utf8'))
    } catch (cause) {
      throw new KubeUnreachableError(nameOf(call), 'the answer is not JSON', { cause })
    }
  }

  /** Send, and read the whole answer. */
  async body(call: KubeCall, limits: CallLimits, signal: AbortSignal): Promise<TypedBody> {
    return this.#whole(call, limits, signal, inner => this.#accepted(call, inner))
  }

  /** Send, and return the HTTP status, whatever it is. */
  async status(call: KubeCall, timeoutMs: number, signal: AbortSignal): Promise<number> {
    const limits = { timeoutMs, maxBytes: MAX_ERROR_BYTES }
    const { status } = await this.#whole(call, limits, signal, inner => this.#believed(call, inner))
    return status
  }

  /**
   * Send, and return the response while its body is still arriving; the caller must `end` it. The time limit ends
   * with the headers. Errors of the body reach its reader as Node.js raises them.
   */
  async open(call: KubeCall, timeoutMs: number, signal: AbortSignal): Promise<OpenResponse> {
    const lifetime = this.#begin(timeoutMs, signal)
    try {
      const answer = await this.#accepted(call, lifetime.signal)
      lifetime.clearDeadline()
      const ended = this.#halfOpen.opened(answer.response.socket)
      const end = (): void => {
        ended()
        lifetime.end()
      }
      return { ...answer, end: () => answer.end().finally(end) }
    } catch (error) {
      lifetime.end()
      throw this.#translate(call, error, lifetime)
    }
  }

  /** Give up all calls and connections; resolves when they are gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    const ends = [...this.#lifetimes].map(lifetime => lifetime.ended)
    for (const lifetime of this.#lifetimes) lifetime.close()
    await Promise.all(ends)
    this.#halfOpen.end()
    this.#kept?.agent.destroy()
  }

  #begin(timeoutMs: number, signal: AbortSignal): RequestLifetime {
    const lifetime = new RequestLifetime(this.#clock, timeoutMs, signal)
    this.#lifetimes.add(lifetime)
    void lifetime.ended.then(() => this.#lifetimes.delete(lifetime))
    if (this.#isClosed) lifetime.close()
    return lifetime
  }

  async #whole(
    call: KubeCall,
    limits: CallLimits,
    signal: AbortSignal,
    send: (inner: AbortSignal) => Promise<OpenResponse>,
  ): Promise<TypedBody & { readonly status: number }> {
    const lifetime = this.#begin(limits.timeoutMs, signal)
    try {
      const answer = await send(lifetime.signal)
      try {
        const bytes = await this.#read(answer, limits, lifetime)
        const { statusCode, headers } = answer.response
        const { 'content-type': type = '', warning } = headers
        return { status: statusCode!, type, warning, bytes }
      } finally {
        await answer.end()
      }
    } catch (error) {
      throw this.#translate(call, error, lifetime)
    } finally {
      lifetime.end()
    }
  }

  /** A whole body: complete within `timeoutMs` or, with `idleMs`, for as long as bytes keep arriving. */
  async #read(
    answer: OpenResponse,
    { maxBytes, idleMs }: CallLimits,
    lifetime: RequestLifetime,
  ): Promise<Buffer> {
    if (idleMs === undefined) return readBody(answer, maxBytes)
    lifetime.clearDeadline()
    const { socket } = answer.response
    const stop = onSilence({ clock: this.#clock, idleMs }, socket, () => lifetime.silence(idleMs))
    try {
      return await readBody(answer, maxBytes)
    } finally {
      stop()
    }
  }

  /** Convert to the errors that callers are promised. */
  #translate(call: KubeCall, error: unknown, lifetime: RequestLifetime): unknown {
    const { cutBy } = lifetime
    const cause = cutBy === undefined ? error : (lifetime.signal.reason as unknown)
    const isTooLate = cutBy === 'deadline' || (cutBy === 'caller' && cause instanceof TimeoutError)
    // When the peer of one kept connection vanished without closing it, the other idle ones are probably dead too.
    if (isTooLate && this.#kept !== undefined) dropIdle(this.#kept.agent)
    if (isTooLate || (cutBy === undefined && !isOwnWord(cause))) this.#halfOpen.unanswered()
    if (cutBy === 'caller' || isOwnWord(cause)) return cause
    return new KubeUnreachableError(nameOf(call), reasonOf(cause), { cause })
  }

  /** Send; a response without a 2xx status is thrown as KubeStatusError. */
  async #accepted(call: KubeCall, signal: AbortSignal): Promise<OpenResponse> {
    const answer = await this.#believed(call, signal)
    const { statusCode: status = 0, headers, statusMessage = '' } = answer.response
    if (status >= 200 && status < 300) {
      // Failures may come from a proxy in between, whose clock is another one.
      const dateMs = Date.parse(headers.date ?? '')
      if (!Number.isNaN(dateMs)) this.#served = { dateMs, at: this.#clock.now() }
      return answer
    }
    try {
      const body = (await readBody(answer, MAX_ERROR_BYTES)).toString('utf8')
      const retryAfterMs = parseRetryAfter(headers['retry-after'], this.#clock.wall())
      throw answerError(nameOf(call), { status, phrase: statusMessage, retryAfterMs, body })
    } finally {
      await answer.end()
    }
  }

  /** Send without credentials; a server that wants to know who asks gets credentials for a while. */
  async #unnamed(call: KubeCall, used: Material, signal: AbortSignal): Promise<OpenResponse> {
    const answer = await this.#send(call, used, signal)
    const { statusCode: status = 0 } = answer.response
    if (status !== 401 && status !== 403) return answer
    await answer.end()
    this.#namedUntil = this.#clock.now() + ANONYMOUS_AGAIN_MS
    return this.#believed(call, signal)
  }

  /** Send; after a 401, send again if the credentials have changed meanwhile. */
  async #believed(call: KubeCall, signal: AbortSignal): Promise<OpenResponse> {
    const used = await orAborted(this.#credentials.material(), signal)
    const isAnonymous = call.isAnonymous === true && this.#clock.now() >= this.#namedUntil
    if (isAnonymous) return this.#unnamed(call, used, signal)
    const answer = await this.#send({ ...call, isAnonymous: false }, used, signal)
    // Whoever brings a token of its own gets the next one itself.
    if (answer.response.statusCode !== 401 || call.token !== undefined) return answer
    this.#credentials.refused()
    try {
      const next = await orAborted(this.#credentials.material(), signal)
      if (sameMaterial(used, next)) return answer
      await answer.end()
      return await this.#send({ ...call, isAnonymous: false }, next, signal)
    } catch (error) {
      await answer.end()
      throw error
    }
  }

  /** Send; once more when a kept connection turned out to be dead. */
  async #send(call: KubeCall, material: Material, signal: AbortSignal): Promise<OpenResponse> {
    const agent = this.#agentFor(material)
    const sender = { material, agent, userAgent: this.#userAgent }
    try {
      return await this.#opened(call, sender, signal)
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error
      if (!error.wasStale) throw error.cause
      dropIdle(agent)
      if (!mayBeRepeated(call)) throw error.cause
    }
    try {
      return await this.#opened(call, sender, signal)
    } catch (error) {
      throw error instanceof NoAnswerError ? error.cause : error
    }
  }

  async #opened(call: KubeCall, sender: Sender, signal: AbortSignal): Promise<OpenResponse> {
    const answer = await openResponse(call, sender, signal)
    this.#halfOpen.answered()
    return answer
  }

  #agentFor({ tls }: Material): http.Agent {
    if (this.#kept?.tls !== tls || this.#kept === undefined) {
      // Running calls keep their connections until they end; new calls use connections with the present TLS
      // material.
      if (this.#kept !== undefined) retire(this.#kept.agent)
      this.#kept = { tls, agent: makeAgent(tls, this.#agentOptions) }
    }
    return this.#kept.agent
  }
}
