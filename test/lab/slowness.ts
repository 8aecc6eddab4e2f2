// SPDX-License-Identifier: Apache-2.0
// How much slower than alone programs run here at present. What must come true in time is given that much more of it;
// what must never happen is not.

/** A small piece of computing: how long it took, and how much CPU time it got, in ms. */
export interface Burst {
  readonly tookMs: number
  readonly gotMs: number
}

const EVERY_MS = 1_000
/** The median of so many, so that a single one changes nothing. */
const KEPT = 5
/** On a machine that is busier than this nothing is proven in any time. */
const MOST = 4
/** Slower than this is told. */
const SLOW = 1.3

/** Time that has passed for programs that share their cores: on a machine with nothing else to do it is the clock's. */
export class FairTime {
  readonly #compute: () => Burst
  readonly #last: number[] = []
  #burstAt = -Infinity
  #seenAt = 0
  #spentMs = 0
  #worst = 1

  constructor(measure: () => Burst = compute) {
    this.#compute = measure
  }

  /** Count from here. */
  restart(now: number): void {
    this.#seenAt = now
    this.#spentMs = 0
  }

  /** @returns how much of it has passed since the start; real time when nobody else wants the cores. */
  spentAt(now: number): number {
    if (now - this.#burstAt >= EVERY_MS) {
      this.#burstAt = now
      this.#add(this.#compute())
    }
    const factor = this.#factor
    this.#worst = Math.max(this.#worst, factor)
    this.#spentMs += (now - this.#seenAt) / factor
    this.#seenAt = now
    return this.#spentMs
  }

  /** What a report must say about it. */
  get notes(): readonly string[] {
    if (this.#worst < SLOW) return []
    const times = this.#worst.toFixed(1)
    return [`a busy machine: what must come true was given up to ${times} times as long`]
  }

  get #factor(): number {
    const sorted = this.#last.toSorted((a, b) => a - b)
    return Math.min(MOST, Math.max(1, sorted[sorted.length >> 1]!))
  }

  #add({ tookMs, gotMs }: Burst): void {
    this.#last.push(tookMs / gotMs)
    if (this.#last.length > KEPT) this.#last.shift()
  }
}

/** More than what a scheduler lets one have in one go. */
const BURST_MS = 12

/** Compute until so much CPU time was got. */
const compute = (): Burst => {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  for (;;) {
    const { user, system } = process.cpuUsage(before)
    const gotMs = (user + system) / 1_000
    if (gotMs >= BURST_MS) return { tookMs: performance.now() - startedAt, gotMs }
  }
}
