// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

/** It is looked so many times in the time that is allowed. */
const LOOKS = 4

/**
 * Calls `expired` once when no byte comes over a connection for `idleMs` (a quarter more at most). Bytes are counted where
 * they come in: what inflates them may hold them back for long. Returns what ends it.
 */
export const onSilence = (
  { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number },
  connection: { readonly bytesRead: number },
  expired: () => void,
): (() => void) => {
  let seen = connection.bytesRead
  let since = clock.now()
  const look = (): void => {
    if (connection.bytesRead !== seen) {
      seen = connection.bytesRead
      since = clock.now()
    } else if (clock.now() - since >= idleMs) {
      expired()
      return
    }
    cancel = clock.after(idleMs / LOOKS, look)
  }
  let cancel = clock.after(idleMs / LOOKS, look)
  return () => cancel()
}
