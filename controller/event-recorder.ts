// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import { KubeStatusError, reasonOf, WithheldError } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { jitter, type Random } from '../core/random.js'
import { EVENTS, type ObjectReference } from '../kube/client/event-body.js'
import { microTime } from '../kube/client/micro-time.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import type { WriteGuard } from '../kube/client/write.js'
import { EventSeries, type EventText, type Series } from './event-series.js'

/** What a recorder needs of the world. */
export interface EventRecorderSeams {
  readonly client: Pick<ResourceClient, 'create' | 'patch'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export interface EventRecorderOptions {
  readonly reportingController: string
  readonly reportingInstance: string
  /** Checked right before each Event is sent; an Event that it refuses is dropped. */
  readonly guard?: WriteGuard | undefined
}

/** For status and metrics. */
export interface EventRecorderStatus {
  /** Events, and new counts of earlier ones, that are queued. */
  readonly pending: number
  readonly sent: number
  /** Events dropped because there were too many about one object or in the queue, or because the server refused them. */
  readonly dropped: number
}

/** Shortest time between two updates of an Event's count. */
const COUNT_EACH_MS = 60_000
const MAX_PENDING = 500
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000

/** Whether to try again: not after the server or our guard refused it for good. */
const isForNow = (error: unknown, isFirst: boolean): boolean => {
  if (error instanceof WithheldError) return false
  const status = error instanceof KubeStatusError ? error.status : 0
  return status < 400 || status >= 500 || status === 429 || status === (isFirst ? 409 : 404)
}

/**
 * Sends Events about objects. The same Event about an object is sent as one with a count. Events are best effort: recording
 * one never waits and never fails, and memory is bounded whatever is recorded.
 */
export class EventRecorder {
  readonly #seams: EventRecorderSeams
  readonly #options: EventRecorderOptions
  readonly #series: EventSeries
  readonly #pending = new Set<Series>()
  readonly #abort = new AbortController()
  #sending: Promise<void> | undefined
  #cancelTimer: (() => void) | undefined
  #failures = 0
  /** Clock.now before which nothing is sent. */
  #notBefore = -Infinity
  #isStopping = false
  #sent = 0
  #dropped = 0

  constructor(seams: EventRecorderSeams, options: EventRecorderOptions) {
    this.#seams = seams
    this.#options = options
    const { reportingController, reportingInstance } = options
    this.#series = new EventSeries(seams, { reportingController, reportingInstance })
  }

  get status(): EventRecorderStatus {
    return { pending: this.#pending.size, sent: this.#sent, dropped: this.#dropped }
  }

  /** Queue an Event. */
  record(regarding: ObjectReference, words: EventText): void {
    if (this.#isStopping) return
    const series = this.#series.count(regarding, words)
    if (series === undefined) this.#dropped++
    else this.#enqueue(series)
  }

  /** Send what is queued until the signal aborts, then nothing more. Never rejects. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#isStopping = true
    const end = (): void => this.#abort.abort()
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    for (const series of this.#pending) series.dueAt = 0
    this.#wake()
    while (this.#sending !== undefined) await this.#sending
    signal.removeEventListener('abort', end)
    this.#cancelTimer?.()
    end()
  }

  #enqueue(series: Series): void {
    this.#pending.add(series)
    if (this.#pending.size > MAX_PENDING) {
      const [oldest] = this.#pending
      this.#pending.delete(oldest!)
      this.#dropped++
    }
    this.#wake()
  }

  /** Send the next one; one request at a time. */
  #wake(): void {
    if (this.#sending !== undefined || this.#abort.signal.aborted) return
    this.#cancelTimer?.()
    const { clock } = this.#seams
    const next = [...this.#pending].reduce<Series | undefined>(
      (first, one) => (first === undefined || one.dueAt < first.dueAt ? one : first),
      undefined,
    )
    if (next === undefined) return
    const waitMs = Math.max(next.dueAt, this.#notBefore) - clock.now()
    if (waitMs > 0) this.#cancelTimer = clock.after(waitMs, () => this.#wake())
    else
      this.#sending = this.#send(next).finally(() => {
        this.#sending = undefined
        this.#wake()
      })
  }

  async #send(series: Series): Promise<void> {
    const { count } = series
    this.#pending.delete(series)
    try {
      await this.#write(series, count)
      series.sentCount = count
      this.#sent++
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#failed(series, error)
      return
    }
    this.#failures = 0
    series.dueAt = this.#isStopping ? 0 : this.#seams.clock.now() + COUNT_EACH_MS
    if (series.count > count) this.#pending.add(series)
  }

  async #write({ body, sentCount, lastWall }: Series, count: number): Promise<void> {
    const { client } = this.#seams
    const { signal } = this.#abort
    const { guard } = this.#options
    const repeated = { series: { count, lastObservedTime: microTime(lastWall) } }
    const { metadata } = body
    if (sentCount === 0) {
      const first = { ...body, ...(count > 1 ? repeated : {}) }
      await client.create(EVENTS, metadata, { body: first, guard }, signal)
    } else {
      const patch = { type: 'merge', body: repeated } as const
      await client.patch(EVENTS, metadata, { patch, guard }, signal)
    }
  }

  #failed(series: Series, error: unknown): void {
    if (!isForNow(error, series.sentCount === 0)) {
      this.#drop(series, error)
      return
    }
    const { status = 0, retryAfterMs = 0 } = error instanceof KubeStatusError ? error : {}
    // The Event exists although its reply was lost, or it is so old that the server deleted it.
    if (status === 409) series.sentCount = 1
    else if (status === 404) series.sentCount = 0
    else this.#backOff(retryAfterMs, error)
    if (series.sentCount < series.count) this.#pending.add(series)
  }

  #backOff(retryAfterMs: number, error: unknown): void {
    const { clock, random, log } = this.#seams
    if (this.#failures === 0) log.warn('Events cannot be written', { error: reasonOf(error) })
    const nominal = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.#failures++, 30))
    this.#notBefore = clock.now() + Math.max(retryAfterMs, jitter(random, nominal, 0.2))
  }

  #drop({ body }: Series, error: unknown): void {
    this.#dropped++
    const { reason, regarding } = body as { reason?: unknown; regarding?: unknown }
    this.#seams.log.debug('Event dropped', { reason, regarding, error: reasonOf(error) })
  }
}
