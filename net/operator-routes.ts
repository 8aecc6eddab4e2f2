// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { METRICS_TYPE } from './metrics-text.js'

/** What a route answers. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** What a program shows operators, the kubelet and Prometheus. All of it is available at once. */
export interface OperatorViews {
  /** `/status`, as JSON. */
  readonly status: () => object
  /** `/metrics`, in the text format of Prometheus. */
  readonly metrics: () => string
  /** `/readyz`: 200 or 503, and why. */
  readonly ready: () => { readonly isReady: boolean; readonly reason: string }
  /** Further paths. */
  readonly more?: Readonly<Record<`/${string}`, (query: URLSearchParams) => Answer>>
}

export const plainAnswer = (status: number, text: string): Answer => ({
  ...{ status, type: 'text/plain; charset=utf-8', text: `${text}\n` },
})

export const jsonAnswer = (value: object): Answer => ({
  ...{ status: 200, type: 'application/json; charset=utf-8', text: `${JSON.stringify(value)}\n` },
})

const answer = (views: OperatorViews, { method, url = '/' }: IncomingMessage): Answer => {
  if (method !== 'GET' && method !== 'HEAD') return plainAnswer(405, 'only GET')
  const [path = '', query = ''] = url.split('?', 2)
  switch (path) {
    case '/healthz':
      return plainAnswer(200, 'ok')
    case '/readyz': {
      const { isReady, reason } = views.ready()
      return plainAnswer(isReady ? 200 : 503, reason)
    }
    case '/status':
      return jsonAnswer(views.status())
    case '/metrics':
      return { status: 200, type: METRICS_TYPE, text: views.metrics() }
  }
  const further = new Map(Object.entries(views.more ?? {})).get(path)
  return further?.(new URLSearchParams(query)) ?? plainAnswer(404, '404 page not found')
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

/** `/healthz`, `/readyz`, `/status`, `/metrics`, and the further paths of the views. A view that throws is 500 and a line in the log. */
export const operatorRoutes =
  (views: OperatorViews, log: Logger): RequestListener =>
  (request, response) => {
    try {
      send(response, answer(views, request))
    } catch (error) {
      log.error('bug: a view failed', { error: reasonOf(error) })
      send(response, plainAnswer(500, 'internal error'))
    }
  }
