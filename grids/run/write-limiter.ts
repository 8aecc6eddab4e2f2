// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'

/** Limits concurrent requests, and sends none while the server asked to wait. */
export class WriteLimiter {
  readonly #clock: Clock
  readonly #waiting: (() => void)[] = []
  #free: number
  /** Clock.now before which nothing is sent. */
  #notBefore = -Infinity

  constructor(clock: Clock, count: number) {
    this.#clock = clock
    this.#free = count
  }

  /** Milliseconds until requests may be sent again. */
  get pausedMs(): number {
    return Math.max(0, this.#notBefore - this.#clock.now())
  }

  /** Begin no request for this long. */
  pause(ms: number): void {
    this.#notBefore = Math.max(this.#notBefore, this.#clock.now() + ms)
  }

  /**
   * Run the work when there is room. Rejects as the work does. After the signal aborts the work is still called and has to
   * check it.
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(resolve => this.#waiting.push(resolve))
    try {
      while (this.pausedMs > 0 && (await sleep(this.#clock, this.pausedMs, signal)));
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
