// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import { namesThisHost } from '../core/loopback.js'

/** Listening on all addresses: whoever asks may call this machine by any name. */
const ALL = new Set(['0.0.0.0', '::'])

/**
 * Whether a request names the machine that it came to: its loopback, or the address that is listened on. A page from
 * elsewhere whose name was rebound to this machine still sends its own name.
 */
export const isMeant = ({ headers }: IncomingMessage, boundAddress: string): boolean =>
  ALL.has(boundAddress) || namesThisHost(headers.host ?? '', boundAddress)
