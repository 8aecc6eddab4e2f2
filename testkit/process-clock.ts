// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'

/** The wall clock of one machine: it may be wrong, and it may be set at any time. */
export interface WallClock {
  offsetMs: number
}

/**
 * How a process came to stand still: SIGSTOP, where all clocks go on; a machine that sleeps (a closed lid), whose
 * monotonic clock stands; a paused VM, whose clocks all stand.
 */
export type Suspension = 'stopped' | 'asleep' | 'paused'

interface Timer {
  /** By the process's own monotonic clock. */
  readonly dueAt: number
  readonly fire: () => void
  cancelWait: () => void
}

/**
 * Time as one process has it: it can be suspended, killed (SIGKILL), and its machine's wall clock can be stepped
 * without touching anybody else's.
 */
export class ProcessClock implements Clock {
  readonly #world: Clock
  readonly #wall: WallClock
  readonly #timers = new Set<Timer>()
  #suspended: { readonly how: Suspension; readonly at: number } | undefined
  /** For how long the monotonic clock, and the clocks of a paused VM, stood still. */
  #sleptMs = 0
  #pausedMs = 0
  #isDead = false

  constructor(world: Clock, wall: WallClock) {
    this.#world = world
    this.#wall = wall
  }

  now(): number {
    return (this.#isStill('asleep') ?? this.#isStill('paused') ?? this.#world.now()) - this.#sleptMs
  }

  boot(): number {
    return (this.#isStill('paused') ?? this.#world.now()) - this.#pausedMs
  }

  wall(): number {
    return this.#world.wall() - (this.#world.now() - this.boot()) + this.#wall.offsetMs
  }

  after(ms: number, wake: () => void): () => void {
    if (this.#isDead) return () => undefined
    const timer: Timer = {
      dueAt: this.now() + Math.max(0, ms),
      fire: () => {
        this.#timers.delete(timer)
        wake()
      },
      cancelWait: () => undefined,
    }
    this.#timers.add(timer)
    if (this.#suspended === undefined) this.#arm(timer)
    return () => {
      this.#timers.delete(timer)
      timer.cancelWait()
    }
  }

  /** Nothing of this process runs from now on, though the world's time goes on. */
  freeze(how: Suspension = 'stopped'): void {
    if (this.#suspended !== undefined || this.#isDead) return
    this.#suspended = { how, at: this.#world.now() }
    for (const timer of this.#timers) timer.cancelWait()
  }

  /** It goes on; what is due by now runs next, in the order in which it fell due. */
  thaw(): void {
    if (this.#suspended === undefined) return
    const { how, at } = this.#suspended
    const ms = this.#world.now() - at
    this.#suspended = undefined
    if (how !== 'stopped') this.#sleptMs += ms
    if (how === 'paused') this.#pausedMs += ms
    for (const timer of [...this.#timers].sort((a, b) => a.dueAt - b.dueAt)) this.#arm(timer)
  }

  /** SIGKILL: nothing of this process ever runs again. */
  kill(): void {
    this.#isDead = true
    for (const timer of this.#timers) timer.cancelWait()
    this.#timers.clear()
  }

  #arm(timer: Timer): void {
    timer.cancelWait = this.#world.after(timer.dueAt - this.now(), timer.fire)
  }

  /** When the world's clock stood where ours stands still; undefined while it does not. */
  #isStill(how: Suspension): number | undefined {
    return this.#suspended?.how === how ? this.#suspended.at : undefined
  }
}
