// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import { reasonOf } from '../core/errors.js'
import { jitter, type Random } from '../core/random.js'

/** What became of one run over a key. */
export type WorkResult =
  | {
      readonly kind: 'done'
      /** Look again in so many milliseconds, though nothing is added. */
      readonly againMs?: number | undefined
    }
  | {
      readonly kind: 'failed'
      readonly reason: string
      /** How long the server asked to be left alone; news does not shorten it. */
      readonly retryAfterMs?: number | undefined
    }

/** One run. It ends soon after the signal aborts. What it throws counts as failed. */
export type Work = (key: string, signal: AbortSignal) => Promise<WorkResult>

export interface WorkQueueSeams {
  readonly clock: Clock
  readonly random: Random
  /** Called after each failure, with how often in a row, and when the next try is at the latest. */
  readonly onFailure?: (key: string, reason: string, failures: number, nextMs: number) => void
}

export interface WorkQueueOptions {
  /**
   * Runs at the same time, never two over one key.
   * @default 4
   */
  readonly workers?: number
  /**
   * Wait after the first failure of a key; doubled with each that follows, ±20 %.
   * @default 1_000
   */
  readonly firstRetryMs?: number
  /**
   * The longest wait after a failure.
   * @default 300_000
   */
  readonly lastRetryMs?: number
  /**
   * Runs that may begin in a second, of all keys together; as many at once.
   * @default 50
   */
  readonly startsPerSecond?: number
}

/** How a queue is doing. */
export interface WorkQueueStatus {
  /** Keys whose turn it is. */
  readonly ready: number
  /** Keys that wait for a time. */
  readonly delayed: number
  readonly running: number
  /** Keys whose last run failed. */
  readonly failing: number
}

interface Failure {
  readonly count: number
  /** Clock.now before which not even news begins a run. */
  readonly notBefore: number
}

const DEFAULTS = { workers: 4, firstRetryMs: 1_000, lastRetryMs: 300_000, startsPerSecond: 50 }

/**
 * Keys of things to be looked at. A key waits once, however often it is added, and one that is added while it runs runs
 * once more: what was added before a run begins is seen by that run. A key that fails is tried again, ever more rarely, and
 * never dropped; news of it is looked at sooner, but not at once.
 */
export class WorkQueue {
  readonly #work: Work
  readonly #seams: WorkQueueSeams
  readonly #options: Required<WorkQueueOptions>
  /** In the order in which their turn came. */
  readonly #ready = new Set<string>()
  readonly #running = new Map<string, Promise<void>>()
  /** Added while running. */
  readonly #again = new Set<string>()
  readonly #timers = new Map<string, { readonly at: number; readonly cancel: () => void }>()
  readonly #failures = new Map<string, Failure>()
  readonly #abort = new AbortController()
  #tokens: number
  #tokensAt: number
  #cancelPump: (() => void) | undefined

  constructor(work: Work, seams: WorkQueueSeams, options: WorkQueueOptions = {}) {
    this.#work = work
    this.#seams = seams
    this.#options = { ...DEFAULTS, ...options }
    this.#tokens = this.#options.startsPerSecond
    this.#tokensAt = seams.clock.now()
  }

  get status(): WorkQueueStatus {
    return {
      ready: this.#ready.size,
      delayed: this.#timers.size,
      running: this.#running.size,
      failing: this.#failures.size,
    }
  }

  /** There is news of this key. */
  add(key: string): void {
    const wait = (this.#failures.get(key)?.notBefore ?? 0) - this.#seams.clock.now()
    if (wait > 0) this.addAfter(key, wait)
    else this.#push(key)
  }

  /** Look at this key in so many milliseconds, or sooner if it is to be looked at sooner. */
  addAfter(key: string, ms: number): void {
    const at = this.#seams.clock.now() + ms
    const timer = this.#timers.get(key)
    if (this.#abort.signal.aborted || (timer !== undefined && timer.at <= at)) return
    timer?.cancel()
    const cancel = this.#seams.clock.after(ms, () => this.#push(key))
    this.#timers.set(key, { at, cancel })
  }

  /** Ends: nothing begins any more, what runs is aborted and waited for. */
  async stop(): Promise<void> {
    this.#abort.abort()
    this.#cancelPump?.()
    for (const { cancel } of this.#timers.values()) cancel()
    this.#timers.clear()
    this.#ready.clear()
    await Promise.all(this.#running.values())
  }

  #push(key: string): void {
    if (this.#abort.signal.aborted) return
    this.#timers.get(key)?.cancel()
    this.#timers.delete(key)
    if (this.#running.has(key)) this.#again.add(key)
    else this.#ready.add(key)
    this.#begin()
  }

  /** Begin as many runs as workers and the rate allow. */
  #begin(): void {
    for (const key of this.#ready) {
      if (this.#running.size >= this.#options.workers || !this.#takeToken()) return
      this.#ready.delete(key)
      this.#running.set(key, this.#run(key))
    }
  }

  /** One start, or a timer for when there will be one. */
  #takeToken(): boolean {
    const { clock } = this.#seams
    const { startsPerSecond } = this.#options
    const now = clock.now()
    const grown = ((now - this.#tokensAt) * startsPerSecond) / 1_000
    this.#tokens = Math.min(startsPerSecond, this.#tokens + grown)
    this.#tokensAt = now
    if (this.#tokens >= 1) {
      this.#tokens--
      return true
    }
    this.#cancelPump ??= clock.after(
      Math.ceil(((1 - this.#tokens) * 1_000) / startsPerSecond),
      () => {
        this.#cancelPump = undefined
        this.#begin()
      },
    )
    return false
  }

  async #run(key: string): Promise<void> {
    const result = await this.#outcome(key)
    this.#running.delete(key)
    const hasNews = this.#again.delete(key)
    if (this.#abort.signal.aborted) return
    if (result.kind === 'failed') this.#failed(key, result)
    else {
      this.#failures.delete(key)
      if (result.againMs !== undefined) this.addAfter(key, result.againMs)
    }
    if (hasNews) this.add(key)
    this.#begin()
  }

  async #outcome(key: string): Promise<WorkResult> {
    try {
      return await this.#work(key, this.#abort.signal)
    } catch (error) {
      return { kind: 'failed', reason: reasonOf(error) }
    }
  }

  #failed(key: string, { reason, retryAfterMs = 0 }: WorkResult & { kind: 'failed' }): void {
    const { clock, random, onFailure } = this.#seams
    const { firstRetryMs, lastRetryMs } = this.#options
    const count = (this.#failures.get(key)?.count ?? 0) + 1
    const nominal = Math.min(lastRetryMs, firstRetryMs * 2 ** Math.min(count - 1, 30))
    const wait = Math.max(retryAfterMs, jitter(random, nominal, 0.2))
    const notBefore = clock.now() + Math.max(retryAfterMs, Math.min(firstRetryMs, wait))
    this.#failures.set(key, { count, notBefore })
    this.addAfter(key, wait)
    onFailure?.(key, reason, count, wait)
  }
}
