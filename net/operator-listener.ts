// SPDX-License-Identifier: Apache-2.0
import type { RequestListener } from 'node:http'
import { isLoopback } from '../core/loopback.js'
import { listen, type Listener, type ListenLimits, type ListenSeams } from './listen.js'
import { operatorRoutes, type OperatorViews } from './operator-routes.js'
import { byAddress } from './sources.js'

/** For the kubelet and scrapers, which send no bodies. */
const LIMITS: ListenLimits = {
  total: 32,
  strangers: 32,
  perStranger: 8,
  perMember: 8,
  keepAliveForStrangers: true,
  headerBytes: 16 << 10,
  headerMs: 10_000,
  bodyMs: 30_000,
  bodyRule: 'whole',
  idleMs: 120_000,
  closeMs: 1_000,
}

/** The answer to a web page that uses DNS rebinding. */
const forbidHost: RequestListener = (_request, response) =>
  void response.writeHead(403, { 'Content-Type': 'text/plain' }).end('forbidden host\n')

/** Listen for operators. On loopback a Host header that does not name this machine is refused. @throws ListenError */
export const listenForOperators = (
  { host, port }: { readonly host: string; readonly port: number },
  views: OperatorViews,
  seams: ListenSeams,
): Promise<Listener> =>
  listen(
    {
      ...{ address: host, port, limits: LIMITS },
      handle: operatorRoutes(views, seams.log),
      forbidden: isLoopback(host) ? forbidHost : undefined,
      sources: byAddress(() => false),
    },
    seams,
  )
