// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import { METRICS_TYPE } from '../../net/metrics-text.js'
import { gridsMetrics } from './metrics.js'
import type { GridsStatusView } from './status-view.js'

interface Answer {
  readonly status: number
  readonly type: string
  readonly text: string
}

const plain = (status: number, text: string): Answer => ({
  ...{ status, type: 'text/plain; charset=utf-8', text: `${text}\n` },
})

/** Ready is who could lead: everything is listed. Who waits for the Lease is ready, too. */
const readiness = ({ tables }: GridsStatusView): Answer => {
  const missing = Object.keys(tables).filter(name => !tables[name]!.isSynced)
  return missing.length === 0
    ? plain(200, 'ok')
    : plain(503, `not listed yet: ${missing.join(', ')}`)
}

const answer = (view: () => GridsStatusView, { method, url = '/' }: IncomingMessage): Answer => {
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'only GET')
  switch (url.split('?', 1)[0]) {
    case '/healthz':
      return plain(200, 'ok')
    case '/readyz':
      return readiness(view())
    case '/status':
      return {
        ...{ status: 200, type: 'application/json; charset=utf-8' },
        text: `${JSON.stringify(view())}\n`,
      }
    case '/metrics':
      return { status: 200, type: METRICS_TYPE, text: gridsMetrics(view()) }
    default:
      return plain(404, '404 page not found')
  }
}

const send = (response: ServerResponse, { status, type, text }: Answer): void => {
  const body = Buffer.from(text)
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.end(body)
}

/** What operators and the kubelet may ask: `/healthz`, `/readyz`, `/status`, `/metrics`. */
export const gridsRoutes =
  (view: () => GridsStatusView, log: Logger): RequestListener =>
  (request, response) => {
    try {
      send(response, answer(view, request))
    } catch (error) {
      log.error('bug: a view failed', { error: reasonOf(error) })
      send(response, plain(500, 'internal error'))
    }
  }
