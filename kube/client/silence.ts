// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'

/** Checks per `idleMs`. */
const LOOKS = 4

/**
 * Calls `expired` once when no byte arrived on a connection for `idleMs` (a quarter more at most). Counts bytes on
 * the socket, since a decompressor may hold them back for long. Returns a function that ends it.
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
