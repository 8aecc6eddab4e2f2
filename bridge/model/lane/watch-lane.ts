// SPDX-License-Identifier: Apache-2.0

/** What one node may have under way for its watches. */
export interface WatchLimits {
  /** Messages that it has not acknowledged, beside those about what it keeps: both share its rate of 30 a second. */
  readonly window: number
  /** After so long a message counts as lost. */
  readonly ackMs: number
}

export const WATCH_LIMITS: WatchLimits = { window: 4, ackMs: 10_000 }

/**
 * Objects that are to be sent to a node for its watches. An object waits once, however often it changes: what is sent is
 * what it is then. One that is under way waits for its acknowledgement.
 */
export class WatchLane {
  readonly #limits: WatchLimits
  readonly #waiting = new Set<string>()
  /** By message. */
  readonly #unacked = new Map<string, { readonly object: string; readonly at: number }>()
  readonly #busy = new Set<string>()

  constructor(limits: WatchLimits = WATCH_LIMITS) {
    this.#limits = limits
  }

  get waiting(): number {
    return this.#waiting.size
  }

  get unacked(): number {
    return this.#unacked.size
  }

  push(object: string): void {
    this.#waiting.add(object)
  }

  /** The next object that may be sent; undefined: none for now. */
  take(): string | undefined {
    if (this.#unacked.size >= this.#limits.window) return undefined
    for (const object of this.#waiting) {
      if (this.#busy.has(object)) continue
      this.#waiting.delete(object)
      return object
    }
    return undefined
  }

  /** It was sent. @param now Clock ms */
  sent(message: string, object: string, now: number): void {
    this.#unacked.set(message, { object, at: now })
    this.#busy.add(object)
  }

  /** The node has dealt with the message, well or not. @returns false for a message that is none of these */
  acknowledged(message: string): boolean {
    const known = this.#unacked.get(message)
    if (known === undefined) return false
    this.#unacked.delete(message)
    this.#busy.delete(known.object)
    return true
  }

  /** What has not been acknowledged for too long is to be sent again. */
  expire(now: number): void {
    for (const [message, { object, at }] of this.#unacked) {
      if (now - at < this.#limits.ackMs) continue
      this.acknowledged(message)
      this.#waiting.add(object)
    }
  }

  /** When to look again, Clock ms; undefined: nothing is under way. */
  get dueAt(): number | undefined {
    const [oldest] = this.#unacked.values()
    return oldest === undefined ? undefined : oldest.at + this.#limits.ackMs
  }
}
