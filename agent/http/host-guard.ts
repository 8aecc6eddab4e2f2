// SPDX-License-Identifier: Apache-2.0
import type { RequestHandler } from 'express'
import { namesThisHost } from '../../core/loopback.js'
import { sendText } from './plain.js'

/** Answers only requests that name this machine's loopback or the bound address as their host. */
export const hostGuard =
  (boundAddress: string): RequestHandler =>
  (request, response, next) => {
    if (namesThisHost(request.headers.host ?? '', boundAddress)) next()
    else sendText(response, 403, 'forbidden host')
  }
