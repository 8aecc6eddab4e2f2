// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { METRICS_TYPE } from './metrics-text.js'

/** The answer of a route. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly text: string
}

/** What a program shows to operators, the kubelet and Prometheus. All of it is available at once. */
export interface OperatorViews {
  /** `/status`, as JSON. */
  readonly status: () => object
  /** `/metrics`, in Prometheus' text format. */
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

const readiness = ({ isReady, reason }: ReturnType<OperatorViews['ready']>): Answer =>
  plainAnswer(isReady ? 200 : 503, reason)

const metricsAnswer = (text: string): Answer => ({ status: 200, type: METRICS_TYPE, text })

const answer = (views: OperatorViews, path: string, query: string): Answer => {
  switch (path) {
    case '/healthz':
      return plainAnswer(200, 'ok')
    case '/readyz':
      return readiness(views.ready())
    case '/status':
      return jsonAnswer(views.status())
    case '/metrics':
      return metricsAnswer(views.metrics())
  }
  const further = new Map(Object.entries(views.more ?? {})).get(path)
  return further?.(new URLSearchParams(query)) ?? plainAnswer(404, '404 page not found')
}

const answerTo = (views: OperatorViews, { method, url = '/' }: IncomingMessage): Answer => {
  if (method !== 'GET' && method !== 'HEAD') return plainAnswer(405, 'only GET')
  const [path = '', query = ''] = url.split('?', 2)
  return answer(views, path, query)
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

/**
 * The routes `/healthz`, `/readyz`, `/status`, `/metrics` and those in `more`. A view that throws is answered with 500 and
 * logged.
 */
export const operatorRoutes =
  (views: OperatorViews, log: Logger): RequestListener =>
  (request, response) => {
    try {
      send(response, answerTo(views, request))
    } catch (error) {
      log.error('bug: a view failed', { error: reasonOf(error) })
      send(response, plainAnswer(500, 'internal error'))
    }
  }
