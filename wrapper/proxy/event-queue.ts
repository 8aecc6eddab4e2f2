// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { jitter, type Random } from '../../core/random.js'

/** An Event that could not be delivered yet, with the caller's own headers. Kept in memory only, never logged. */
export interface QueuedEvent {
  readonly url: string
  readonly headers: string[]
  readonly body: Buffer
  /** Who sent it: sources share the queue. */
  readonly source: string
}

/**
 * The outcome of sending an Event. `unreachable`: there was no answer. `failed`: the apiserver reports a temporary failure,
 * which may be its own or concern this Event; `retryAfterMs`: it also said how long to wait.
 */
export type SentEvent =
  'sent' | 'refused' | 'failed' | 'unreachable' | { readonly retryAfterMs: number }

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
  /** Not accepted, because the queue or the source's share of it was full: the caller got an error. */
  dropped: number
  /** Refused by the apiserver: a token had expired, a namespace was gone, or it failed or dropped the connection each time. */
  refused: number
  /** Still waiting when we stopped. */
  lost: number
}

const FIRST_WAIT_MS = 1_000
const LAST_WAIT_MS = 30_000
/** As many attempts as client-go makes. */
const MAX_FAILURES = 12

/** After as many attempts without an answer each second one is made with another Event: it may be this one's fault. */
const DOUBTED_AFTER = 3

/** What one source has in the queue. */
interface Share {
  events: number
  bytes: number
  /** Number of the attempt that was its last; of the newest one of all when it came. */
  turn: number
  /** `Clock.now` before which none of its Events is sent, since the apiserver has just failed on one. */
  dueAt: number
}

interface Waiting {
  readonly event: QueuedEvent
  readonly share: Share
  tries: number
  /** Failures while the apiserver was there. */
  failures: number
  /** `Clock.now` of the next attempt. */
  dueAt: number
  /** How often the apiserver was known to have answered anybody when this one was tried last. */
  answersSeen: number
}

/** `outage`: nobody answers. `idle`: every Event waits after a failure. */
interface Pause {
  readonly ms: number
  readonly why: 'outage' | 'idle'
}

const dueAtOf = ({ dueAt, share }: Waiting): number => Math.max(dueAt, share.dueAt)

const sizeOf = ({ url, headers, body }: QueuedEvent): number =>
  body.length + url.length + headers.reduce((sum, text) => sum + text.length, 0)

/**
 * The one to send next: the oldest of the source whose turn it is, or in a long outage now and then the one that was tried
 * least.
 */
const choose = (due: readonly Waiting[], unreached: number): Waiting | undefined => {
  const [oldest, ...others] = due
  if (oldest === undefined) return undefined
  const isDoubted = unreached >= DOUBTED_AFTER && unreached % 2 === 1
  const rankOf = isDoubted ? ({ tries }: Waiting) => tries : ({ share }: Waiting) => share.turn
  return others.reduce((first, each) => (rankOf(each) < rankOf(first) ? each : first), oldest)
}

const backoffMs = (times: number): number =>
  Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(10, times))

/**
 * Queues Events and sends them when the apiserver is reachable again: each source's in order of arrival, and sources in
 * turn. One that failed waits, its source's others for a second, and other sources' are sent meanwhile; one that gets no
 * answer while the apiserver answers others waits too. An outage counts against no Event.
 */
export class EventQueue {
  readonly counts: QueueCounts = { accepted: 0, sent: 0, dropped: 0, refused: 0, lost: 0 }
  readonly #options: QueueOptions
  readonly #seams: QueueSeams
  readonly #stopping = new AbortController()
  readonly #events: Waiting[] = []
  /** Of those that have an Event in the queue. */
  readonly #shares = new Map<string, Share>()
  #bytes = 0
  /** Attempts so far. */
  #turn = 0
  #running: Promise<void> | undefined
  #wake: () => void = () => undefined
  #pausing: Pause['why'] | undefined
  /** How often the apiserver is known to have answered: an Event, or the wrapper. */
  #answers = 0
  /** Attempts in a row without an answer. */
  #unreached = 0

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
    const { source } = event
    const bytes = sizeOf(event)
    const share = this.#shares.get(source) ?? { events: 0, bytes: 0, turn: this.#turn, dueAt: 0 }
    if (this.#stopping.signal.aborted || !this.#hasRoom(share, bytes)) {
      this.counts.dropped++
      return false
    }
    if (this.length === 0) this.#seams.log.info('events wait for the apiserver')
    this.#events.push({ event, share, tries: 0, failures: 0, dueAt: 0, answersSeen: this.#answers })
    if (this.#pausing === 'idle') this.#wake()
    this.#shares.set(source, share)
    share.events++
    share.bytes += bytes
    this.#bytes += bytes
    this.counts.accepted++
    this.#running ??= this.#run()
    return true
  }

  /** The apiserver has answered: after an outage send at once. Events on which it failed go on waiting. */
  retry(): void {
    this.#answers++
    this.#unreached = 0
    if (this.#pausing === 'outage') this.#wake()
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#running
    this.counts.lost += this.length
    if (this.length > 0) this.#seams.log.warn('events are lost', { count: this.length })
    this.#events.length = 0
    this.#shares.clear()
    this.#bytes = 0
  }

  /** A source leaves free as much as it holds: alone it fills half, and there is always room for one more source. */
  #hasRoom(share: Share, bytes: number): boolean {
    const { maxEvents, maxBytes } = this.#options
    return (
      share.events + 1 <= maxEvents - this.length && share.bytes + bytes <= maxBytes - this.#bytes
    )
  }

  /** Waits for the oldest Event that may be sent. */
  async #next(): Promise<Waiting | undefined> {
    const { clock } = this.#seams
    for (;;) {
      const now = clock.now()
      const due = this.#events.filter(waiting => dueAtOf(waiting) <= now)
      const next = choose(due, this.#unreached)
      if (next !== undefined || this.length === 0 || this.#stopping.signal.aborted) return next
      const dueAt = Math.min(...this.#events.map(dueAtOf))
      await this.#pause({ ms: dueAt - now, why: 'idle' }, 0)
    }
  }

  /** An Event may come after the last answer and before the queue is done. */
  async #run(): Promise<void> {
    while (this.length > 0 && !this.#stopping.signal.aborted) await this.#drain()
    this.#running = undefined
  }

  async #drain(): Promise<void> {
    const { log, send } = this.#seams
    const { signal } = this.#stopping
    this.#unreached = 0
    await this.#pause({ ms: FIRST_WAIT_MS, why: 'outage' })
    for (let next = await this.#next(); next !== undefined; next = await this.#next()) {
      if (signal.aborted) return
      next.share.turn = ++this.#turn
      const pause = this.#take(next, await send(next.event, signal))
      if (pause !== undefined) await this.#pause(pause)
    }
    if (signal.aborted) return
    log.info('all events are delivered', { ...this.counts })
  }

  /** Take an outcome. @returns how long to wait before the next attempt, with any Event */
  #take(tried: Waiting, outcome: SentEvent): Pause | undefined {
    const isThere = outcome !== 'unreachable' || this.#answers > tried.answersSeen
    if (outcome !== 'unreachable') this.#answers++
    tried.answersSeen = this.#answers
    tried.tries++
    if (!isThere) return { ms: backoffMs(this.#unreached++), why: 'outage' }
    this.#unreached = 0
    const isOver = outcome === 'sent' || outcome === 'refused'
    if (isOver || ++tried.failures >= MAX_FAILURES) {
      this.#remove(tried, isOver ? outcome : 'refused')
      return undefined
    }
    const { retryAfterMs } = typeof outcome === 'string' ? { retryAfterMs: 0 } : outcome
    const { clock, random } = this.#seams
    tried.dueAt = clock.now() + Math.max(retryAfterMs, backoffMs(tried.failures))
    tried.share.dueAt = clock.now() + jitter(random, FIRST_WAIT_MS, 0.2)
    return undefined
  }

  #remove(over: Waiting, outcome: 'sent' | 'refused'): void {
    const { event, share } = over
    const bytes = sizeOf(event)
    this.#events.splice(this.#events.indexOf(over), 1)
    share.events--
    share.bytes -= bytes
    if (share.events === 0) this.#shares.delete(event.source)
    this.#bytes -= bytes
    this.counts[outcome]++
  }

  /** Waits for a time, or until something else ends the pause. */
  async #pause({ ms, why }: Pause, spread = 0.2): Promise<void> {
    const { clock, random } = this.#seams
    const pause = new AbortController()
    const end = (): void => pause.abort()
    this.#wake = end
    this.#pausing = why
    this.#stopping.signal.addEventListener('abort', end, { once: true })
    if (this.#stopping.signal.aborted) end()
    await sleep(clock, jitter(random, ms, spread), pause.signal)
    this.#pausing = undefined
    this.#stopping.signal.removeEventListener('abort', end)
  }
}
