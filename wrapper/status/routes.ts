// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Logger } from '../../core/log.js'
import { reasonOf } from '../../core/errors.js'
import { METRICS_TYPE } from '../../net/metrics-text.js'
import { wrapperMetricsText } from './metrics.js'
import type { ServiceView, WrapperStatusView } from './status-view.js'

/** What the listener for operators shows. All of it is available at once. */
export interface WrapperViews {
  status(): WrapperStatusView
  /** Undefined when neither the service nor any endpoint of it is known. @param service `namespace/name` */
  explain(service: string): ServiceView | undefined
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly text: string
}

const plain = (status: number, text: string): Answer => ({
  ...{ status, type: 'text/plain; charset=utf-8', text: `${text}\n` },
})
const json = (value: unknown): Answer => ({
  ...{ status: 200, type: 'application/json; charset=utf-8', text: `${JSON.stringify(value)}\n` },
})

const SERVICE = /^[a-z0-9][-a-z0-9]{0,62}\/[a-z0-9][-a-z0-9.]{0,252}$/

const explain = (views: WrapperViews, service: string | null): Answer => {
  if (service === null || !SERVICE.test(service))
    return plain(400, 'service must be NAMESPACE/NAME')
  const view = views.explain(service)
  return view === undefined ? plain(404, 'no such service') : json(view)
}

const answer = (views: WrapperViews, { method, url = '/' }: IncomingMessage): Answer => {
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'only GET')
  const [path = '', query = ''] = url.split('?', 2)
  switch (path) {
    case '/healthz':
      return plain(200, 'ok')
    case '/readyz': {
      const { isReady, reason } = views.status().ready
      return plain(isReady ? 200 : 503, reason)
    }
    case '/status':
      return json(views.status())
    case '/metrics':
      return { status: 200, type: METRICS_TYPE, text: wrapperMetricsText(views.status()) }
    case '/explain':
      return explain(views, new URLSearchParams(query).get('service'))
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

/** The routes for operators: */
export const statusRoutes =
  (views: WrapperViews, log: Logger): RequestListener =>
  (request, response) => {
    try {
      send(response, answer(views, request))
    } catch (error) {
      log.error('bug: a view failed', { error: reasonOf(error) })
      send(response, plain(500, 'internal error'))
    }
  }
