// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { jitter, type Random } from '../../core/random.js'

/** An Event that could not be told yet, with the caller's own headers. Held in memory only, never logged. */
export interface QueuedEvent {
  readonly url: string
  readonly headers: string[]
  readonly body: Buffer
}

/** How the apiserver took an Event. `unreachable`: it did not; it stays first in line. */
export type SentEvent = 'sent' | 'refused' | 'unreachable'

/** How much is held. */
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
  /** Not taken, since the queue was full: the caller was told so. */
  dropped: number
  /** The apiserver did not want them: a token had ended, or a namespace was gone. */
  refused: number
  /** Still waiting when we stopped. */
  lost: number
}

const FIRST_WAIT_MS = 1_000
const LAST_WAIT_MS = 30_000

const sizeOf = ({ url, headers, body }: QueuedEvent): number =>
  body.length + url.length + headers.reduce((sum, text) => sum + text.length, 0)

/** Events in order of arrival, told when the apiserver is back. */
export class EventQueue {
  readonly counts: QueueCounts = { accepted: 0, sent: 0, dropped: 0, refused: 0, lost: 0 }
  readonly #options: QueueOptions
  readonly #seams: QueueSeams
  readonly #stopper = new AbortController()
  readonly #events: QueuedEvent[] = []
  #bytes = 0
  #running: Promise<void> | undefined
  #wake: () => void = () => undefined

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

  /** @returns false when there is no room: nothing that was accepted is ever thrown out for it. */
  offer(event: QueuedEvent): boolean {
    const { maxEvents, maxBytes } = this.#options
    const bytes = sizeOf(event)
    if (
      this.#stopper.signal.aborted ||
      this.length >= maxEvents ||
      this.#bytes + bytes > maxBytes
    ) {
      this.counts.dropped++
      return false
    }
    if (this.length === 0) this.#seams.log.info('events wait for the apiserver')
    this.#events.push(event)
    this.#bytes += bytes
    this.counts.accepted++
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined
    })
    return true
  }

  /** The apiserver answers again: try at once. */
  retry(): void {
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#stopper.abort(new Error('stopped'))
    await this.#running
    this.counts.lost += this.length
    if (this.length > 0) this.#seams.log.warn('events are lost', { count: this.length })
    this.#events.length = 0
    this.#bytes = 0
  }

  async #drain(): Promise<void> {
    const { log, send } = this.#seams
    const { signal } = this.#stopper
    let failures = 0
    await this.#pause(FIRST_WAIT_MS)
    for (let next = this.#events[0]; next !== undefined; next = this.#events[0]) {
      if (signal.aborted) return
      const outcome = await send(next, signal)
      if (outcome === 'unreachable') {
        await this.#pause(Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(10, failures++)))
        continue
      }
      failures = 0
      this.#events.shift()
      this.#bytes -= sizeOf(next)
      this.counts[outcome]++
    }
    log.info('all events are told', { ...this.counts })
  }

  /** Until the time is over, or somebody says that it is worth trying. */
  async #pause(ms: number): Promise<void> {
    const { clock, random } = this.#seams
    const pause = new AbortController()
    const end = (): void => pause.abort()
    this.#wake = end
    this.#stopper.signal.addEventListener('abort', end, { once: true })
    if (this.#stopper.signal.aborted) end()
    await sleep(clock, jitter(random, ms, 0.2), pause.signal)
    this.#stopper.signal.removeEventListener('abort', end)
  }
}
