// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { LoopLag } from '../check/loop-lag.js'

/** A delay that starts right after a tick is seen this much too short; ten wake-ups a second cost nothing to speak of. */
const TICK_MS = 100
/** Timers are never quite on time. */
const NOISE_MS = 20
const KEPT = 64

/** Watches how late a steady timer fires. It keeps the process alive until stopped. */
export const makeLoopLag = (clock: Clock): LoopLag & { stop(): void } => {
  const lags: { at: number; ms: number }[] = []
  let dueAt = 0
  let cancel: () => void
  const plan = (): void => {
    dueAt = clock.now() + TICK_MS
    cancel = clock.after(TICK_MS, tick)
  }
  const tick = (): void => {
    const at = clock.now()
    const ms = at - dueAt
    if (ms > NOISE_MS) lags.push({ at, ms })
    if (lags.length > KEPT) lags.shift()
    plan()
  }
  plan()
  return {
    maxSince: since => {
      // A delay that just ended may not have reached our own timer yet.
      let most = Math.max(0, clock.now() - dueAt)
      for (const { at, ms } of lags) if (at >= since) most = Math.max(most, ms)
      return most
    },
    stop: () => cancel(),
  }
}
