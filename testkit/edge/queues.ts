// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

/** How fast an edge sends. */
export interface SendRate {
  readonly perSecond: number
  readonly burst: number
}

/**
 * What waits to leave an edge: one queue in order, held to one rate. A message that meets a broken connection is lost; what is
 * behind it waits for the next connection.
 */
export class Outbox {
  readonly #clock: Clock
  readonly #rate: SendRate
  readonly #waiting: string[] = []
  #tokens: number
  #filledAt: number
  /** Returns false when the connection is broken. */
  #write: ((text: string) => boolean) | undefined
  #cancel: (() => void) | undefined

  constructor(clock: Clock, rate: SendRate) {
    this.#clock = clock
    this.#rate = rate
    this.#tokens = rate.burst
    this.#filledAt = clock.now()
  }

  get waiting(): number {
    return this.#waiting.length
  }

  push(text: string): void {
    this.#waiting.push(text)
    this.#pump()
  }

  open(write: (text: string) => boolean): void {
    this.#write = write
    this.#pump()
  }

  halt(): void {
    this.#write = undefined
    this.#cancel?.()
    this.#cancel = undefined
  }

  #pump(): void {
    if (this.#cancel !== undefined) return
    while (this.#write !== undefined && this.#waiting.length > 0) {
      const waitMs = this.#takeToken()
      if (waitMs > 0) {
        this.#cancel = this.#clock.after(waitMs, () => {
          this.#cancel = undefined
          this.#pump()
        })
        return
      }
      this.#write(this.#waiting.shift()!)
    }
  }

  /** @returns 0 when there was one, else milliseconds until there is */
  #takeToken(): number {
    const { perSecond, burst } = this.#rate
    const now = this.#clock.now()
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) / 1000) * perSecond)
    this.#filledAt = now
    // A timer may fire a rounding error too early.
    if (this.#tokens < 1 - 1e-6) return Math.ceil(((1 - this.#tokens) / perSecond) * 1000)
    this.#tokens -= 1
    return 0
  }
}

/** What arrived at an edge and waits to be stored: a first-in-first-out queue that drops its oldest when it is full. */
export class Inbox<T> {
  readonly #clock: Clock
  readonly #limits: { readonly capacity: number; readonly storeMs: number }
  readonly #handle: (item: T) => void
  readonly #waiting: T[] = []
  #dropped = 0
  #cancel: (() => void) | undefined

  constructor(
    clock: Clock,
    limits: { readonly capacity: number; readonly storeMs: number },
    handle: (item: T) => void,
  ) {
    this.#clock = clock
    this.#limits = limits
    this.#handle = handle
  }

  get dropped(): number {
    return this.#dropped
  }

  push(item: T): void {
    if (this.#waiting.length >= this.#limits.capacity) {
      this.#waiting.shift()
      this.#dropped++
    }
    this.#waiting.push(item)
    if (this.#cancel === undefined) this.#arm()
  }

  stop(): void {
    this.#cancel?.()
    this.#waiting.length = 0
  }

  #arm(): void {
    const { storeMs } = this.#limits
    const since = this.#clock.now()
    this.#cancel = this.#clock.after(storeMs, () => {
      this.#cancel = undefined
      // Timers of a busy machine fire late: what could have been stored meanwhile is.
      const elapsed = this.#clock.now() - since
      const count = Math.max(1, Math.floor(elapsed / Math.max(storeMs, 0.1)))
      for (const item of this.#waiting.splice(0, count)) this.#handle(item)
      if (this.#waiting.length > 0) this.#arm()
    })
  }
}
