// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, RequestListener } from 'node:http'
import { isLoopback, namesThisHost } from '../core/loopback.js'
import { Refusal, statusBody } from '../kube/status.js'

/** Whether a request names the machine that it came to. Who listens on more than loopback is called by any name. */
export const isMeant = ({ headers }: IncomingMessage, boundAddress: string): boolean =>
  !isLoopback(boundAddress) || namesThisHost(headers.host ?? '', boundAddress)

const refusal = new Refusal(403, 'Forbidden', 'forbidden host: name 127.0.0.1 or localhost')
const REFUSED = `${JSON.stringify(statusBody(refusal))}\n`

/** Pages whose name was rebound to this machine are refused. */
export const guarded =
  (boundAddress: string, handle: RequestListener): RequestListener =>
  (request, response) => {
    if (isMeant(request, boundAddress)) handle(request, response)
    else response.writeHead(403, { 'Content-Type': 'application/json' }).end(REFUSED)
  }
