// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { Clock } from '../core/clock.js'
import { sourceOf } from '../net/socket-users.js'
import type { Sources } from '../net/sources.js'

/** Tells whether a request is root's, our own user's, or came over TLS, with a certificate of our authority. */
export const trusting = (
  sources: Sources,
  seams: { readonly clock: Clock; readonly signal: AbortSignal },
): ((request: IncomingMessage) => Promise<boolean>) => {
  // Each request that waits for its user listens to it.
  setMaxListeners(0, seams.signal)
  return async ({ socket }) =>
    socket instanceof TLSSocket || (await sourceOf(socket, sources, seams)).isMember
}
