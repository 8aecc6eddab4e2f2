// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

/** What to wait for, and how long. */
export interface Waiting {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly ms: number
  /** Calls `wake` whenever the condition may have become true. Returns a function that ends this. */
  readonly subscribe: (wake: () => void) => () => void
}

/** Resolves when the condition is true, the time is over, or the signal aborts. Never rejects. */
export const until = (
  isTrue: () => boolean,
  { clock, signal, ms, subscribe }: Waiting,
): Promise<void> =>
  new Promise(resolve => {
    if (isTrue() || signal.aborted) {
      resolve()
      return
    }
    const end = (): void => {
      cancel()
      unsubscribe()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    const unsubscribe = subscribe(() => {
      if (isTrue()) end()
    })
    signal.addEventListener('abort', end, { once: true })
  })
