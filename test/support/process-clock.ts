// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

/** The wall clock of one machine: it may be wrong, and it may be set at any time. */
export interface WallClock {
  offsetMs: number
}

/**
 * Time as one process has it: its timers can be held back (SIGSTOP) and thrown away (SIGKILL), and its machine's wall
 * clock can be stepped without touching anybody else's.
 */
export class ProcessClock implements Clock {
  readonly #world: Clock
  readonly #wall: WallClock
  readonly #cancels = new Set<() => void>()
  #held: (() => void)[] | undefined
  #isDead = false

  constructor(world: Clock, wall: WallClock) {
    this.#world = world
    this.#wall = wall
  }

  now(): number {
    return this.#world.now()
  }

  wall(): number {
    return this.#world.wall() + this.#wall.offsetMs
  }

  after(ms: number, wake: () => void): () => void {
    if (this.#isDead) return () => undefined
    let isCancelled = false
    const fire = (): void => {
      this.#cancels.delete(cancel)
      if (isCancelled || this.#isDead) return
      if (this.#held === undefined) wake()
      else this.#held.push(fire)
    }
    const cancelTimer = this.#world.after(ms, fire)
    const cancel = (): void => {
      isCancelled = true
      this.#cancels.delete(cancel)
      cancelTimer()
    }
    this.#cancels.add(cancel)
    return cancel
  }

  /** SIGSTOP: nothing of this process runs, though time goes on. */
  freeze(): void {
    this.#held ??= []
  }

  /** SIGCONT: what fell due meanwhile runs now. */
  thaw(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const fire of held) fire()
  }

  /** SIGKILL: nothing of this process ever runs again. */
  kill(): void {
    this.#isDead = true
    for (const cancel of [...this.#cancels]) cancel()
    this.#held = undefined
  }
}
