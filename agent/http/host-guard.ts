// SPDX-License-Identifier: Apache-2.0
import type { RequestHandler } from 'express'
import { sendText } from './plain.js'

const hostOf = (header: string): string => {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:]*))(?::\d{1,5})?$/i.exec(header)
  return (match?.[1] ?? match?.[2] ?? '').toLowerCase()
}

const isLoopbackName = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)

/**
 * Answers only requests that name this machine's loopback or the bound address as their host. A page from elsewhere
 * whose name was rebound to 127.0.0.1 still sends its own name, and is refused.
 */
export const hostGuard =
  (boundAddress: string): RequestHandler =>
  (request, response, next) => {
    const host = hostOf(request.headers.host ?? '')
    if (isLoopbackName(host) || host === boundAddress.toLowerCase()) next()
    else sendText(response, 403, 'forbidden host')
  }
