// SPDX-License-Identifier: Apache-2.0
import type { Table } from '../store/table.js'

/** Sends events in small portions. */
export interface Pumped {
  /** @returns whether there is more to do at once */
  turn(): boolean
}

/**
 * Lets the watches of a table send in turns after a change: they advance together, so that bytes encoded for one can be
 * reused for the next, and a burst for one does not delay the others.
 */
export class Pump {
  readonly #all = new Set<Pumped>()
  readonly #ready = new Set<Pumped>()
  readonly #onIdle: () => void
  readonly #unsubscribe: () => void
  #isScheduled = false

  constructor(table: Table, onIdle: () => void) {
    this.#onIdle = onIdle
    this.#unsubscribe = table.subscribe(() => {
      for (const one of this.#all) this.#ready.add(one)
      this.#round()
    })
  }

  get size(): number {
    return this.#all.size
  }

  add(one: Pumped): void {
    this.#all.add(one)
    this.wake(one)
  }

  remove(one: Pumped): void {
    this.#all.delete(one)
    this.#ready.delete(one)
  }

  /** It may have something to send. */
  wake(one: Pumped): void {
    this.#ready.add(one)
    this.#schedule()
  }

  stop(): void {
    this.#unsubscribe()
    this.#all.clear()
    this.#ready.clear()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#round()
    })
  }

  #round(): void {
    for (const one of [...this.#ready]) if (!one.turn()) this.#ready.delete(one)
    if (this.#ready.size > 0) this.#schedule()
    else this.#onIdle()
  }
}
