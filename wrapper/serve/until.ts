// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

/** How something is waited for. */
export interface Waiting {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly ms: number
  /** Calls `wake` whenever it may have come true. Returns what ends that. */
  readonly subscribe: (wake: () => void) => () => void
}

/** Resolves when it is true, when the time is over, or when nobody waits any more. Never rejects. */
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
