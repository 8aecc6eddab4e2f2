// SPDX-License-Identifier: Apache-2.0
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
import type { Credentials } from './credentials.js'
import { nameOf, readBody, type OpenResponse, type KubeCall } from './open-response.js'
import { parseRetryAfter } from './retry-after.js'
import { RequestSender } from './request-sender.js'
import { onSilence } from './silence.js'
import { answerError } from './status-error.js'
import { StoreProgress } from './store-progress.js'

/** Limits of one call. */
export interface CallLimits {
  /** For the whole response; with `idleMs`, for its headers only. */
  readonly timeoutMs: number
  /** Longest pause within a response that has begun; then the whole may take any time. */
  readonly idleMs?: number
  readonly maxBytes: number
}

/** A whole answer, also one that refuses. */
interface AnyAnswer extends TypedBody {
  readonly status: number
  /** The HTTP status text. */
  readonly phrase: string
}

const MAX_ERROR_BYTES = 64 * 1024
/** Errors that callers get as they are: they say more than "unreachable". */
const isPromised = (error: unknown): boolean =>
  error instanceof KubeStatusError ||
  error instanceof CredentialsError ||
  error instanceof WithheldError

/**
 * Requests to one apiserver: over one HTTP/2 connection where it has TLS and speaks that, else over kept ones of HTTP/1.1.
 * Every call rejects with KubeStatusError, KubeUnreachableError, CredentialsError, or the signal's reason, and not before
 * its connection is closed or free again.
 */
export class KubeClient {
  /** How far the store has come, as all watches of this client have seen it. */
  readonly progress = new StoreProgress()
  readonly #clock: Clock
  readonly #sender: RequestSender
  readonly #lifetimes = new Set<RequestLifetime>()
  readonly #halfOpen: HalfOpenCheck
  #isClosed = false
  /** The newest `Date` header of a successful response, and when it arrived. */
  #served: { readonly dateMs: number; readonly at: number } | undefined

  /**
   * @param userAgent must differ between programs: SuperEdge's lite-apiserver caches by it and would give two
   * programs of one name each other's lists. It must not contain a version, or an upgrade would lose the cache.
   * @param more `connections`: use so many of HTTP/1.1 at the same time instead, for hundreds of requests at once
   */
  constructor(
    credentials: Credentials,
    clock: Clock,
    userAgent: string,
    { connections }: { readonly connections?: number | undefined } = {},
  ) {
    this.#clock = clock
    this.#halfOpen = new HalfOpenCheck(clock)
    this.#sender = new RequestSender(
      { credentials, clock, onAnswer: () => this.#halfOpen.answered() },
      { userAgent, connections },
    )
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

  /** Send, and return the whole answer, whatever its status and whoever gave it. */
  async anyAnswer(call: KubeCall, timeoutMs: number, signal: AbortSignal): Promise<AnyAnswer> {
    const limits = { timeoutMs, maxBytes: MAX_ERROR_BYTES }
    return this.#whole(call, limits, signal, inner => this.#sender.send(call, inner))
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
      const ended = this.#halfOpen.opened(answer)
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

  /** The next calls go over new connections; those that are open end with their calls. */
  reconnect(): void {
    this.#sender.reconnect()
  }

  /** Give up all calls and connections; resolves when they are gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    const ends = [...this.#lifetimes].map(lifetime => lifetime.ended)
    for (const lifetime of this.#lifetimes) lifetime.close()
    await Promise.all(ends)
    this.#halfOpen.end()
    this.#sender.close()
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
  ): Promise<AnyAnswer> {
    const lifetime = this.#begin(limits.timeoutMs, signal)
    try {
      const answer = await send(lifetime.signal)
      try {
        const bytes = await this.#read(answer, limits, lifetime)
        const { status, phrase, headers } = answer
        const { 'content-type': type = '', warning, date } = headers
        return { status, phrase, type, warning, date, bytes }
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
    const { received } = answer
    const stop = onSilence({ clock: this.#clock, idleMs }, received, () => lifetime.silence(idleMs))
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
    if (isTooLate) this.#sender.unanswered(call)
    if (isTooLate || (cutBy === undefined && !isPromised(cause))) this.#halfOpen.unanswered()
    if (cutBy === 'caller' || isPromised(cause)) return cause
    return new KubeUnreachableError(nameOf(call), reasonOf(cause), { cause })
  }

  /** Send; a response without a 2xx status is thrown as KubeStatusError. */
  async #accepted(call: KubeCall, signal: AbortSignal): Promise<OpenResponse> {
    const answer = await this.#sender.send(call, signal)
    const { status, headers, phrase } = answer
    if (status >= 200 && status < 300) {
      // Failures may come from a proxy in between, whose clock is another one.
      const dateMs = Date.parse(headers.date ?? '')
      if (!Number.isNaN(dateMs)) this.#served = { dateMs, at: this.#clock.now() }
      return answer
    }
    try {
      const bytes = await readBody(answer, MAX_ERROR_BYTES)
      const raw = call.readRefusal?.({ type: headers['content-type'] ?? '', bytes })
      const retryAfterMs = parseRetryAfter(headers['retry-after'], this.#clock.wall())
      throw answerError(nameOf(call), {
        status,
        phrase,
        retryAfterMs,
        body: raw ?? bytes.toString('utf8'),
      })
    } finally {
      await answer.end()
    }
  }
}
