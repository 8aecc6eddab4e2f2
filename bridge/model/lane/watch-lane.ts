// SPDX-License-Identifier: Apache-2.0

/** Limits of what is sent to one node for its watches. */
export interface WatchLimits {
  /** Unacknowledged messages. Those about objects that the node keeps come on top; both share its rate of 30 a second. */
  readonly window: number
  /** A message that is not acknowledged within this time counts as lost. */
  readonly ackMs: number
}

export const WATCH_LIMITS: WatchLimits = { window: 4, ackMs: 10_000 }

/**
 * Objects to be sent to a node for its watches. An object is queued once however often it changes, and sent in its state of
 * that moment; while it is in flight it is not sent again.
 */
export class WatchLane {
  readonly #limits: WatchLimits
  readonly #waiting = new Set<string>()
  /** By message id. */
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

  /** The next object to send; undefined when none may be sent now. */
  take(): string | undefined {
    if (this.#unacked.size >= this.#limits.window) return undefined
    for (const object of this.#waiting) {
      if (this.#busy.has(object)) continue
      this.#waiting.delete(object)
      return object
    }
    return undefined
  }

  /** The object was sent. @param now clock ms */
  sent(message: string, object: string, now: number): void {
    this.#unacked.set(message, { object, at: now })
    this.#busy.add(object)
  }

  /** The node acknowledged or refused a message. @returns its object; undefined for a message that is not one of these */
  acknowledged(message: string): string | undefined {
    const known = this.#unacked.get(message)
    if (known === undefined) return undefined
    this.#unacked.delete(message)
    this.#busy.delete(known.object)
    return known.object
  }

  /** Queue again what was not acknowledged in time. */
  expire(now: number): void {
    for (const [message, { object, at }] of this.#unacked) {
      if (now - at < this.#limits.ackMs) continue
      this.acknowledged(message)
      this.#waiting.add(object)
    }
  }

  /** When to call `expire` next, clock ms; undefined when nothing is in flight. */
  get dueAt(): number | undefined {
    const [oldest] = this.#unacked.values()
    return oldest === undefined ? undefined : oldest.at + this.#limits.ackMs
  }
}
