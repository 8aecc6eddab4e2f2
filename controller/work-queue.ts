// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import { reasonOf } from '../core/errors.js'
import type { Fields, Logger } from '../core/log.js'
import { jitter, type Random } from '../core/random.js'

/** The outcome of one run for a key. */
export type WorkResult =
  | {
      readonly kind: 'done'
      /** Run again after this time even if the key is not added again. */
      readonly againMs?: number | undefined
    }
  | {
      readonly kind: 'failed'
      readonly reason: string
      /** How long the server asked to wait; adding the key does not shorten it. */
      readonly retryAfterMs?: number | undefined
    }

/** One run for a key. It must end soon after the signal aborts. An exception counts as a failure. */
export type Work = (key: string, signal: AbortSignal) => Promise<WorkResult>

export interface WorkQueueSeams {
  readonly clock: Clock
  readonly random: Random
  /** Called after each failure with the number of failures in a row and the longest time until the next run. */
  readonly onFailure?: (key: string, reason: string, failures: number, nextMs: number) => void
}

/**
 * Logs failures: the first in a row of a key as a warning, later ones for debugging.
 * @param fieldsOf what names the key in the log
 */
export const logFailures =
  (
    log: Logger,
    message: string,
    fieldsOf: (key: string, nextMs: number) => Fields,
  ): NonNullable<WorkQueueSeams['onFailure']> =>
  (key, reason, failures, nextMs) =>
    log[failures === 1 ? 'warn' : 'debug'](message, {
      ...fieldsOf(key, nextMs),
      ...{ error: reason, failures },
    })

export interface WorkQueueOptions {
  /**
   * Concurrent runs, never two for one key.
   * @default 4
   */
  readonly workers?: number
  /**
   * Wait after the first failure of a key; doubled with each further one, ±20 %.
   * @default 1_000
   */
  readonly firstRetryMs?: number
  /**
   * The longest wait after a failure.
   * @default 300_000
   */
  readonly lastRetryMs?: number
  /**
   * Runs that may begin per second over all keys, and the burst.
   * @default 50
   */
  readonly startsPerSecond?: number
}

/** For status and metrics. */
export interface WorkQueueStatus {
  /** Keys that may run now. */
  readonly ready: number
  /** Keys that wait for a time. */
  readonly delayed: number
  readonly running: number
  /** Keys whose last run failed. */
  readonly failing: number
}

interface Failure {
  readonly count: number
  /** `Clock.now` before which no run begins, even for an added key. */
  readonly notBefore: number
}

const DEFAULTS = { workers: 4, firstRetryMs: 1_000, lastRetryMs: 300_000, startsPerSecond: 50 }

/**
 * A queue of keys to process. A key is queued once however often it is added; one that is added while it runs runs once
 * more afterwards, so each run sees everything from before it began. A key that fails is run again with growing waits and
 * never dropped; adding it shortens the wait, but not to zero.
 */
export class WorkQueue {
  readonly #work: Work
  readonly #seams: WorkQueueSeams
  readonly #options: Required<WorkQueueOptions>
  /** In the order in which they became ready. */
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

  /** Something about this key has changed. */
  add(key: string): void {
    if (this.#pauseOf(key) > 0) this.addAfter(key, 0)
    else this.#push(key)
  }

  /** Run this key after this time, or sooner if that is planned already; a key that has failed as late as `add` does. */
  addAfter(key: string, ms: number): void {
    const wait = Math.max(ms, this.#pauseOf(key))
    const at = this.#seams.clock.now() + wait
    const timer = this.#timers.get(key)
    if (this.#abort.signal.aborted || (timer !== undefined && timer.at <= at)) return
    timer?.cancel()
    const cancel = this.#seams.clock.after(wait, () => this.#due(key))
    this.#timers.set(key, { at, cancel })
  }

  /** Stop: begin no more runs, abort those that run, and wait for them. */
  async stop(): Promise<void> {
    this.#abort.abort()
    this.#cancelPump?.()
    for (const { cancel } of this.#timers.values()) cancel()
    this.#timers.clear()
    this.#ready.clear()
    await Promise.all(this.#running.values())
  }

  /** How long no run may begin because the last one failed. */
  #pauseOf(key: string): number {
    return (this.#failures.get(key)?.notBefore ?? 0) - this.#seams.clock.now()
  }

  /** The key may have failed since its time was set. */
  #due(key: string): void {
    this.#timers.delete(key)
    this.add(key)
  }

  #push(key: string): void {
    if (this.#abort.signal.aborted) return
    this.#timers.get(key)?.cancel()
    this.#timers.delete(key)
    if (this.#running.has(key)) this.#again.add(key)
    else this.#ready.add(key)
    this.#begin()
  }

  /** Begin as many runs as workers and rate allow. */
  #begin(): void {
    for (const key of this.#ready) {
      if (this.#running.size >= this.#options.workers || !this.#takeToken()) return
      this.#ready.delete(key)
      this.#running.set(key, this.#run(key))
    }
  }

  /** Take a token of the rate limit, or set a timer for the next one. @returns whether there was one */
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
