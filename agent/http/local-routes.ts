// SPDX-License-Identifier: Apache-2.0
import type { Request, RequestHandler, Response } from 'express'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { isLoopback } from '../../core/loopback.js'
import type { Listening } from '../../net/listen.js'
import { METRICS_TYPE } from '../../net/metrics-text.js'
import { makeEventStream } from './event-stream.js'
import { makeLocalInfo, type LocalinfoTime } from './local-info.js'
import { agentMetricsText, type MetricsNodes } from './metrics.js'
import { PAGE } from './page.js'
import { finish, forbidHost, makeBareApp, sendText } from './plain.js'
import { makeStatusFeed } from './status-feed.js'
import type { Views } from './views.js'

/** What the own node's listener needs. */
export interface LocalSeams {
  readonly views: Views
  readonly localinfoTime: LocalinfoTime
  readonly metricsNodes: MetricsNodes
  readonly clock: Clock
  readonly log: Logger
}

/** The application, whom it refuses, and what ends its streams: for `listen`. */
export type LocalApp = Required<Pick<Listening, 'handle' | 'forbidden' | 'onClose'>>

const MAX_VERBOSITY_BODY = 64

const queryOf = (request: Request): URLSearchParams => {
  const at = request.url.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : request.url.slice(at + 1))
}

const wantsStream = (request: Request): boolean => {
  const value = queryOf(request).get('stream')
  return value !== null && value !== '0' && value !== 'false'
}

const sendJson = (response: Response, status: number, value: unknown): void => {
  const body = Buffer.from(`${JSON.stringify(value)}\n`)
  response.statusCode = status
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.setHeader('Cache-Control', 'no-store')
  response.setHeader('Content-Length', body.length)
  response.end(body)
}

const readShort = async (request: Request): Promise<string | undefined> => {
  let text = ''
  for await (const chunk of request) {
    text += String(chunk)
    if (text.length > MAX_VERBOSITY_BODY) return undefined
  }
  return text
}

/** klog's `/debug/flags/v`, answers and all. */
const debugFlags =
  (views: Views): RequestHandler =>
  async (request, response) => {
    if (request.method !== 'PUT') {
      sendText(response, 406, 'unsupported http method', '')
      return
    }
    if (!isLoopback(request.socket.remoteAddress ?? '')) {
      sendText(response, 403, 'only from this node')
      return
    }
    const text = await readShort(request)
    if (text === undefined || !/^(\d|10)$/.test(text)) {
      const shown = JSON.stringify((text ?? '').slice(0, MAX_VERBOSITY_BODY))
      const reason = `failed to set klog.logging.verbosity ${shown}: must be a whole number from 0 to 10`
      sendText(response, 400, reason, '')
      return
    }
    views.setVerbosity(Number(text))
    sendText(response, 200, `successfully set klog.logging.verbosity to ${text}`, '')
  }

/**
 * What the own node may ask: `/localinfo` and its stream, `/status` and its stream, `/metrics`, `/healthz`,
 * `/readyz`, `/debug/flags/v`, and a page for people at `/`.
 */
export const makeLocalApp = ({
  views,
  localinfoTime,
  metricsNodes,
  clock,
  log,
}: LocalSeams): LocalApp => {
  const app = makeBareApp()
  const localInfo = makeLocalInfo(views, localinfoTime, clock)
  const localStream = makeEventStream(clock, log)
  const statusFeed = makeStatusFeed(views, clock, log)
  /** Everything up to now, so that who opens a stream next begins where the others are. */
  const tellChanges = (): void => {
    const data = localInfo.changes()
    if (data !== undefined) localStream.send({ event: 'change', id: localInfo.generation(), data })
  }
  const unsubscribe = views.subscribe(() => {
    statusFeed.changed()
    tellChanges()
  })

  app.all('/localinfo', (request, response) => {
    const interest = queryOf(request).get('interest')
    if (interest !== null) views.setInterest(interest.split(',').filter(name => name !== ''))
    if (wantsStream(request)) {
      tellChanges()
      const first = { event: 'snapshot', id: localInfo.generation(), data: localInfo.snapshot() }
      if (localStream.open(response, first)) return
      // Whoever holds all streams takes none of what stands in them from the others: they ask again.
    }
    const body = localInfo.body()
    response.setHeader('Content-Type', 'text/plain; charset=utf-8')
    response.setHeader('Content-Length', body.length)
    response.end(body)
  })
  app.get('/status', (request, response) => {
    const name = queryOf(request).get('node')
    if (name !== null) {
      const node = views.node(name)
      if (node === undefined) sendText(response, 404, 'no such node in this zone')
      else sendJson(response, 200, { ...views.zone(), node })
    } else if (!wantsStream(request)) sendJson(response, 200, views.status())
    else if (!statusFeed.open(response)) sendText(response, 503, 'too many streams')
  })
  app.get('/metrics', (_request, response) => {
    const body = Buffer.from(agentMetricsText(views, metricsNodes))
    response.setHeader('Content-Type', METRICS_TYPE)
    response.setHeader('Content-Length', body.length)
    response.end(body)
  })
  app.get('/healthz', (_request, response) => sendText(response, 200, 'ok'))
  app.get('/readyz', (_request, response) => {
    const { isReady, reason } = views.readiness()
    sendText(response, isReady ? 200 : 503, reason)
  })
  app.all('/debug/flags/v', debugFlags(views))
  app.get('/', (_request, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8')
    response.setHeader('Content-Security-Policy', PAGE.policy)
    response.setHeader('Content-Length', PAGE.body.length)
    response.end(PAGE.body)
  })
  finish(app, log)
  return {
    handle: app,
    forbidden: forbidHost,
    onClose: () => {
      unsubscribe()
      localStream.close()
      statusFeed.close()
    },
  }
}
