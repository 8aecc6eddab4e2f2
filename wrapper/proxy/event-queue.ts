// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { jitter, type Random } from '../../core/random.js'

/** An Event that could not be delivered yet, with the caller's own headers. Kept in memory only, never logged. */
export interface QueuedEvent {
  readonly url: string
  readonly headers: string[]
  readonly body: Buffer
}

/**
 * The outcome of sending an Event. `unreachable`: there was no answer. `failed`: the apiserver reports a temporary failure,
 * which may be its own or concern this Event.
 */
export type SentEvent = 'sent' | 'refused' | 'failed' | 'unreachable'

/** Limits of the queue. */
export interface QueueOptions {
  readonly maxEvents: number
  readonly maxBytes: number
}

/** What the queue needs of the world. */
export interface QueueSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Never rejects. */
  readonly send: (event: QueuedEvent, signal: AbortSignal) => Promise<SentEvent>
}

/** Numbers that only grow, since the start. */
export interface QueueCounts {
  accepted: number
  sent: number
  /** Not accepted, because the queue was full: the caller got an error. */
  dropped: number
  /** Refused by the apiserver: a token had expired, a namespace was gone, or it failed each time. */
  refused: number
  /** Still waiting when we stopped. */
  lost: number
}

const FIRST_WAIT_MS = 1_000
const LAST_WAIT_MS = 30_000
/** As many attempts as client-go makes. */
const MAX_FAILURES = 12

interface Waiting {
  readonly event: QueuedEvent
  failures: number
  /** `Clock.now` of the next attempt. */
  dueAt: number
}

const sizeOf = ({ url, headers, body }: QueuedEvent): number =>
  body.length + url.length + headers.reduce((sum, text) => sum + text.length, 0)

const backoffMs = (times: number): number =>
  Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(10, times))

/**
 * Queues Events in order of arrival and sends them when the apiserver is reachable again. One that failed waits, and others
 * are sent before it.
 */
export class EventQueue {
  readonly counts: QueueCounts = { accepted: 0, sent: 0, dropped: 0, refused: 0, lost: 0 }
  readonly #options: QueueOptions
  readonly #seams: QueueSeams
  readonly #stopping = new AbortController()
  readonly #events: Waiting[] = []
  #bytes = 0
  #running: Promise<void> | undefined
  #wake: () => void = () => undefined
  /** The apiserver is reachable, and all queued Events have failed before. */
  #isIdle = false

  constructor(options: QueueOptions, seams: QueueSeams) {
    this.#options = options
    this.#seams = seams
  }

  get length(): number {
    return this.#events.length
  }

  get bytes(): number {
    return this.#bytes
  }

  /** @returns false when there is no room: accepted Events are never dropped for new ones */
  offer(event: QueuedEvent): boolean {
    const { maxEvents, maxBytes } = this.#options
    const bytes = sizeOf(event)
    if (
      this.#stopping.signal.aborted ||
      this.length >= maxEvents ||
      this.#bytes + bytes > maxBytes
    ) {
      this.counts.dropped++
      return false
    }
    if (this.length === 0) this.#seams.log.info('events wait for the apiserver')
    this.#events.push({ event, failures: 0, dueAt: 0 })
    if (this.#isIdle) this.#wake()
    this.#bytes += bytes
    this.counts.accepted++
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined
    })
    return true
  }

  /** The apiserver answers again: send at once. */
  retry(): void {
    for (const waiting of this.#events) waiting.dueAt = 0
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#running
    this.counts.lost += this.length
    if (this.length > 0) this.#seams.log.warn('events are lost', { count: this.length })
    this.#events.length = 0
    this.#bytes = 0
  }

  /** Waits for the oldest Event that may be sent. */
  async #next(): Promise<Waiting | undefined> {
    const { clock } = this.#seams
    for (;;) {
      const now = clock.now()
      const next = this.#events.find(({ dueAt }) => dueAt <= now)
      if (next !== undefined || this.length === 0 || this.#stopping.signal.aborted) return next
      this.#isIdle = true
      await this.#pause(Math.min(...this.#events.map(({ dueAt }) => dueAt)) - now, 0)
      this.#isIdle = false
    }
  }

  async #drain(): Promise<void> {
    const { clock, log, send } = this.#seams
    const { signal } = this.#stopping
    let unreached = 0
    await this.#pause(FIRST_WAIT_MS)
    for (let next = await this.#next(); next !== undefined; next = await this.#next()) {
      if (signal.aborted) return
      const outcome = await send(next.event, signal)
      if (outcome === 'unreachable') {
        await this.#pause(backoffMs(unreached++))
        continue
      }
      unreached = 0
      if (outcome === 'failed' && ++next.failures < MAX_FAILURES) {
        next.dueAt = clock.now() + backoffMs(next.failures)
        await this.#pause(FIRST_WAIT_MS)
        continue
      }
      this.#events.splice(this.#events.indexOf(next), 1)
      this.#bytes -= sizeOf(next.event)
      this.counts[outcome === 'failed' ? 'refused' : outcome]++
    }
    if (signal.aborted) return
    log.info('all events are delivered', { ...this.counts })
  }

  /** Waits for a time, or until `retry`. */
  async #pause(ms: number, spread = 0.2): Promise<void> {
    const { clock, random } = this.#seams
    const pause = new AbortController()
    const end = (): void => pause.abort()
    this.#wake = end
    this.#stopping.signal.addEventListener('abort', end, { once: true })
    if (this.#stopping.signal.aborted) end()
    await sleep(clock, jitter(random, ms, spread), pause.signal)
    this.#stopping.signal.removeEventListener('abort', end)
  }
}
