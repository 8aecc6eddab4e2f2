// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

/** Rate limit of what one node sends. */
export interface IntakeLimits {
  /** In units: a frame costs one, and one more for each 4 KiB. KubeEdge's edges send 30 frames a second, after 60 at once. */
  readonly perSecond: number
  readonly burst: number
}

const UNIT_BYTES = 4 << 10

/** Why reading from a connection is paused. */
export type Hold =
  /** Too many requests of the node are queued. */
  | 'lane'
  /** It exceeds its rate. */
  | 'rate'
  /** It does not read what it is sent. */
  | 'unread'

/**
 * Decides when a connection is read. A paused websocket still delivers frames that it has already received; they are queued
 * here and delivered when reading goes on.
 */
export class Intake {
  readonly #clock: Clock
  readonly #limits: IntakeLimits
  readonly #deliver: (frame: string) => void
  /** Start or stop reading from the network. */
  readonly #read: (isOn: boolean) => void
  readonly #holds = new Set<Hold>()
  readonly #kept: string[] = []
  #units: number
  #countedAt: number
  #isDelivering = false
  #cancel: (() => void) | undefined

  constructor(
    clock: Clock,
    limits: IntakeLimits,
    seams: { readonly deliver: (frame: string) => void; readonly read: (isOn: boolean) => void },
  ) {
    this.#clock = clock
    this.#limits = limits
    this.#deliver = seams.deliver
    this.#read = seams.read
    this.#units = limits.burst
    this.#countedAt = clock.now()
  }

  get isHeld(): boolean {
    return this.#holds.size > 0
  }

  isHeldFor(why: Hold): boolean {
    return this.#holds.has(why)
  }

  /** A frame arrived. */
  push(frame: string): void {
    this.#kept.push(frame)
    this.#drain()
  }

  /** Pause reading until `release` is called with the same reason. May be called twice. */
  hold(why: Hold): void {
    const wasHeld = this.isHeld
    this.#holds.add(why)
    if (!wasHeld) this.#read(false)
  }

  release(why: Hold): void {
    if (!this.#holds.delete(why) || this.isHeld) return
    this.#drain()
    if (this.#holds.size === 0) this.#read(true)
  }

  /** The connection is gone: deliver nothing more. */
  stop(): void {
    this.#cancel?.()
    this.#kept.length = 0
    this.#holds.clear()
  }

  #drain(): void {
    // A delivery may release a hold: the loop that is already running goes on then.
    if (this.#isDelivering) return
    this.#isDelivering = true
    while (!this.isHeld) {
      const frame = this.#kept.shift()
      if (frame === undefined) break
      this.charge(1 + Math.floor(frame.length / UNIT_BYTES))
      this.#deliver(frame)
    }
    this.#isDelivering = false
  }

  /** Charge what was read. The balance may become negative; then nothing more is read until it has recovered. */
  charge(units: number): void {
    const { perSecond, burst } = this.#limits
    const now = this.#clock.now()
    this.#units = Math.min(burst, this.#units + ((now - this.#countedAt) / 1000) * perSecond)
    this.#countedAt = now
    this.#units -= units
    if (this.#units >= 0) return
    this.hold('rate')
    this.#cancel?.()
    this.#cancel = this.#clock.after((-this.#units / perSecond) * 1000, () => this.release('rate'))
  }
}
