// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { LagLook, LoopLag } from '../ports/loop-lag.js'

/** A delay that starts right after a tick is seen this much too short. */
const TICK_MS = 100
/** Timers are never quite on time. */
const NOISE_MS = 20

/**
 * Measures how late a timer fires, while somebody asks. A round of probes that is answered ends before its first
 * tick: in a healthy zone this timer never fires.
 */
export const makeLoopLag = (clock: Clock): LoopLag => {
  const looks = new Set<Look>()
  let dueAt = 0
  let cancel: () => void = () => undefined

  class Look implements LagLook {
    #most = 0
    #lost = 0

    see(ms: number): void {
      if (ms <= NOISE_MS) return
      this.#most = Math.max(this.#most, ms)
      this.#lost += ms
    }

    get mostMs(): number {
      // A delay that just ended may not have reached our own timer yet.
      return Math.max(this.#most, clock.now() - dueAt, 0)
    }

    get lostMs(): number {
      return this.#lost + Math.max(0, clock.now() - dueAt)
    }

    end(): void {
      looks.delete(this)
      if (looks.size === 0) cancel()
    }
  }
  const plan = (): void => {
    dueAt = clock.now() + TICK_MS
    cancel = clock.after(TICK_MS, tick)
  }
  const tick = (): void => {
    const late = clock.now() - dueAt
    for (const look of looks) look.see(late)
    plan()
  }
  return {
    look: () => {
      if (looks.size === 0) plan()
      const look = new Look()
      looks.add(look)
      return look
    },
  }
}
