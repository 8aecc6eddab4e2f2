// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'

interface Timer {
  readonly at: number
  readonly order: number
  readonly wake: () => void
  cancelled: boolean
}

/** How finely a clock moves. */
export interface Pace {
  /** Timers fire on a grid of so many milliseconds: fewer instants, each for more timers. @default exact */
  readonly gridMs?: number
  /** What lets promises settle after each instant. @default settle */
  readonly settle?: () => Promise<void>
}

/** Enough where nothing but timers and promises is at work. */
export const settleOnce = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Let promises that are ready run, so that the code under test reaches its next wait. */
export const settle = async (): Promise<void> => {
  for (let i = 0; i < 3; i++) await new Promise<void>(resolve => setImmediate(resolve))
}

/** A clock that moves only when told. Timers fire in order of time, then of making. */
export class FakeClock implements Clock {
  #now: number
  #wall: number
  #order = 0
  readonly #gridMs: number
  readonly #settle: () => Promise<void>
  readonly #heap: Timer[] = []

  constructor(now = 1_000, wall = Date.UTC(2026, 0, 1), pace: Pace = {}) {
    this.#gridMs = pace.gridMs ?? 0
    this.#settle = pace.settle ?? settle
    this.#now = now
    this.#wall = wall
  }

  now(): number {
    return this.#now
  }

  boot(): number {
    return this.#now
  }

  wall(): number {
    return this.#wall
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#heap.filter(timer => !timer.cancelled).length
  }

  after(ms: number, wake: () => void): () => void {
    const timer: Timer = {
      at: this.#onGrid(this.#now + Math.max(0, ms)),
      order: this.#order++,
      wake,
      cancelled: false,
    }
    this.#push(timer)
    return () => {
      timer.cancelled = true
    }
  }

  #onGrid(at: number): number {
    return this.#gridMs === 0 ? at : Math.ceil(at / this.#gridMs) * this.#gridMs
  }

  /** Step the wall clock alone, as NTP or an operator would. */
  stepWall(ms: number): void {
    this.#wall += ms
  }

  /** Move time on, firing what falls due; promises settle after each instant that fired something. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await this.#settle()
    for (;;) {
      const next = this.#peek()
      if (next === undefined || next.at > end) break
      this.#moveTo(next.at)
      this.#fireDue()
      await this.#settle()
    }
    this.#moveTo(end)
  }

  #fireDue(): void {
    for (let next = this.#peek(); next !== undefined && next.at <= this.#now; next = this.#peek()) {
      this.#pop()
      next.wake()
    }
  }

  #moveTo(at: number): void {
    this.#wall += at - this.#now
    this.#now = at
  }

  #peek(): Timer | undefined {
    while (this.#heap[0]?.cancelled === true) this.#pop()
    return this.#heap[0]
  }

  #push(timer: Timer): void {
    const heap = this.#heap
    let i = heap.push(timer) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!before(timer, heap[parent]!)) break
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = timer
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, last)) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = last
  }
}

const before = (a: Timer, b: Timer): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
