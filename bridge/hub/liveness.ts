// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

export interface LivenessLimits {
  /** A node that sent no keepalive for this long counts as gone. KubeEdge's edges send one every 15 s. */
  readonly keepaliveMs: number
  /** Time between pings. A node that answered neither of the last two counts as gone. */
  readonly pingMs: number
}

interface LivenessSeams {
  readonly clock: Clock
  readonly ping: () => void
  /** Whether nothing is read from the node, so that its signs of life cannot arrive. */
  readonly isHeld: () => boolean
  readonly onGone: (why: 'no keepalive' | 'no answer to pings') => void
}

/** A timer that fires this late shows that this process was suspended; the node may be fine. */
export const LATE_MS = 5_000

/** Tells when a silent node counts as gone. */
export class Liveness {
  readonly #limits: LivenessLimits
  readonly #seams: LivenessSeams
  #keepaliveAt: number
  /** Pings sent since the last sign of life. */
  #unanswered = 0
  #cancelKeepalive: () => void = () => undefined
  #cancelPing: () => void = () => undefined

  constructor(limits: LivenessLimits, seams: LivenessSeams) {
    this.#limits = limits
    this.#seams = seams
    this.#keepaliveAt = seams.clock.now()
    this.#watchKeepalive()
    this.#ping()
  }

  /** The node's keepalive arrived. */
  keepalive(): void {
    this.#keepaliveAt = this.#seams.clock.now()
  }

  /** Bytes or the answer to a ping arrived. */
  heard(): void {
    this.#unanswered = 0
  }

  /** Reading begins again. It was paused, so keepalives may be late: count from now. */
  resumed(): void {
    this.keepalive()
    this.heard()
  }

  stop(): void {
    this.#cancelKeepalive()
    this.#cancelPing()
  }

  #watchKeepalive(): void {
    const { clock, isHeld, onGone } = this.#seams
    const { keepaliveMs } = this.#limits
    const dueAt = this.#keepaliveAt + keepaliveMs
    this.#cancelKeepalive = clock.after(Math.max(0, dueAt - clock.now()), () => {
      const now = clock.now()
      if (isHeld() || now - dueAt > LATE_MS) this.#keepaliveAt = now
      if (now - this.#keepaliveAt >= keepaliveMs) onGone('no keepalive')
      else this.#watchKeepalive()
    })
  }

  #ping(): void {
    const { clock, isHeld, onGone, ping } = this.#seams
    const { pingMs } = this.#limits
    const dueAt = clock.now() + pingMs
    this.#cancelPing = clock.after(pingMs, () => {
      if (isHeld() || clock.now() - dueAt > LATE_MS) this.#unanswered = 0
      if (this.#unanswered >= 2) {
        onGone('no answer to pings')
        return
      }
      this.#unanswered++
      ping()
      this.#ping()
    })
  }
}
