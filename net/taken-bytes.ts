// SPDX-License-Identifier: Apache-2.0
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** What Node.js does not document: TLS runs over a socket of its own, and a socket's handle knows what waits in it. */
interface Internals {
  readonly _parent?: (Socket & Internals) | null
  readonly _handle?: { readonly writeQueueSize?: unknown } | null
}

/**
 * Bytes that the kernel has taken from a TLS or TCP socket so far. It grows while a single large write is on its way, of
 * which `bytesWritten` and callbacks tell the begin and the end only. Undefined where it is not known.
 */
export const takenBytes = (socket: Duplex): number | undefined => {
  const { _parent } = socket as Duplex & Internals
  const { bytesWritten, _handle } = _parent ?? (socket as Socket & Internals)
  const waiting = _handle?.writeQueueSize
  return typeof waiting === 'number' ? bytesWritten - waiting : undefined
}
