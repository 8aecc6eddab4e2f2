// SPDX-License-Identifier: Apache-2.0
import { FairTime } from './slowness.js'

const LOOK_MS = 500

/** What is waited for, and for how long at most on a machine with nothing else to do. */
export interface Awaited {
  readonly what: string
  readonly limitMs: number
  /** What is not so yet, in words; undefined once all is. */
  readonly look: () => Promise<string | undefined>
}

interface PatienceSeams {
  readonly now?: () => number
  readonly time?: FairTime
  readonly pause?: () => Promise<void>
}

/** Wait, on a busy machine for longer. @throws an error that says for what, for how long, and what was seen last. */
export const waitFor = async (
  { what, limitMs, look }: Awaited,
  signal: AbortSignal,
  {
    now = () => performance.now(),
    time = new FairTime(),
    pause = () => new Promise(resolve => setTimeout(resolve, LOOK_MS)),
  }: PatienceSeams = {},
): Promise<void> => {
  const startedAt = now()
  time.restart(startedAt)
  for (let saw = await look(); saw !== undefined; saw = await look()) {
    signal.throwIfAborted()
    if (time.spentAt(now()) > limitMs) {
      const seconds = Math.round((now() - startedAt) / 1_000)
      throw new Error([`waited ${seconds} s in vain for: ${what}; seen last: ${saw}`, ...time.notes].join('; ')) // prettier-ignore
    }
    await pause()
  }
}
