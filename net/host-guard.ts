// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import { namesThisHost } from '../core/loopback.js'

/** When bound to all addresses any Host is accepted, since the machine may have any name. */
const ALL = new Set(['0.0.0.0', '::'])

/**
 * Whether the Host header names this machine: loopback or the bound address. A web page whose DNS name was rebound to this
 * machine (DNS rebinding) still sends its own name and is refused.
 */
export const isForThisHost = ({ headers }: IncomingMessage, boundAddress: string): boolean =>
  ALL.has(boundAddress) || namesThisHost(headers.host ?? '', boundAddress)
