// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Express, Request, RequestHandler } from 'express'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { isLoopback } from '../../core/loopback.js'
import type { Listening } from '../../net/listen.js'
import { sourceOf } from '../../net/socket-users.js'
import { endOf, type Sources } from '../../net/sources.js'
import { METRICS_TYPE } from '../../net/metrics-text.js'
import { EventStream, type StreamEvent } from './event-stream.js'
import { makeLocalInfo, type LocalinfoTime } from './local-info.js'
import { agentMetricsText, type MetricsNodes } from './metrics.js'
import { addPageRoutes } from './page/routes.js'
import {
  finish,
  forbidHost,
  makeBareApp,
  queryOf,
  sendBytes,
  sendText,
  wantsStream,
} from './plain.js'
import { addStatusRoutes } from './status-routes.js'
import type { Views } from './views.js'

/** What the own node's listener needs. */
export interface LocalSeams {
  readonly views: Views
  readonly localinfoTime: LocalinfoTime
  readonly metricsNodes: MetricsNodes
  /** The agents', for lines that people copy. */
  readonly namespace: string
  /** Tells clients apart: streams have budgets, and what strangers ask comes last. @default all are one trusted program */
  readonly sources?: Sources
  readonly clock: Clock
  readonly log: Logger
}

/** The application, whom it refuses, and what ends its streams: for `listen`. */
export type LocalApp = Required<Pick<Listening, 'handle' | 'forbidden' | 'onClose'>>

const MAX_VERBOSITY_BODY = 64

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

/** The key of a stranger's budget; undefined for a client without one. */
const makeKeyOf =
  (sources: Sources | undefined) =>
  ({ socket }: IncomingMessage): string | undefined => {
    if (sources === undefined) return undefined
    const key = sources.keyOf(endOf(socket)) ?? 'unknown'
    return sources.isMember(key) ? undefined : key
  }

/** Who names nodes or opens a stream is found first, as long as that may take: root is no stranger for having come just now. */
const findSource =
  (
    sources: Sources,
    seams: { readonly clock: Clock; readonly signal: AbortSignal },
  ): RequestHandler =>
  async (request, response, next) => {
    const isNamed = wantsStream(request) || queryOf(request).has('interest')
    if (isNamed) await sourceOf(request.socket, sources, seams)
    if (!response.destroyed) next()
  }

/** `/localinfo` and its stream. @returns what ends the stream */
const addLocalInfo = (
  app: Express,
  { views, localinfoTime, clock, log }: LocalSeams,
  keyOf: (request: IncomingMessage) => string | undefined,
): (() => void) => {
  const localInfo = makeLocalInfo(views, localinfoTime, clock)
  const stream = new EventStream(clock, log)
  /** Send everything up to now, so that the next stream that opens begins where the others are. */
  const sendChanges = (): void => {
    const data = localInfo.changes()
    if (data !== undefined) stream.send({ event: 'change', id: localInfo.generation(), data })
  }
  const unsubscribe = views.subscribe(sendChanges)
  app.all('/localinfo', (request, response) => {
    const interest = queryOf(request).get('interest')
    if (interest !== null) {
      const names = interest.split(',').filter(name => name !== '')
      views.setInterest(names, keyOf(request) === undefined)
    }
    if (wantsStream(request)) {
      sendChanges()
      const first = (): StreamEvent => ({
        event: 'snapshot',
        id: localInfo.generation(),
        data: localInfo.snapshot(),
      })
      if (stream.open(response, first, keyOf(request))) return
      // When all streams are taken, the client still gets the document: without a stream it asks again.
    }
    sendBytes(response, 'text/plain; charset=utf-8', localInfo.body())
  })
  return () => {
    unsubscribe()
    stream.close()
  }
}

/**
 * What the own node may ask: `/localinfo` and its stream, `/status` and `/history` with their streams, `/explain`, `/matrix`, `/metrics`, `/healthz`,
 * `/readyz`, `/debug/flags/v`, and a page for people at `/`.
 */
export const makeLocalApp = (seams: LocalSeams): LocalApp => {
  const { views, metricsNodes, sources, namespace, clock, log } = seams
  const keyOf = makeKeyOf(sources)
  const app = makeBareApp()
  const stopping = new AbortController()
  const { signal } = stopping
  setMaxListeners(0, signal)
  if (sources !== undefined) app.use(findSource(sources, { clock, signal }))
  const ends = [
    () => stopping.abort(),
    addLocalInfo(app, seams, keyOf),
    addStatusRoutes(app, { views, clock, log, keyOf }),
    addPageRoutes(app, { views, namespace, clock, log, keyOf }),
  ]
  app.get('/metrics', (_request, response) =>
    sendBytes(response, METRICS_TYPE, Buffer.from(agentMetricsText(views, metricsNodes))),
  )
  app.get('/healthz', (_request, response) => sendText(response, 200, 'ok'))
  app.get('/readyz', (_request, response) => {
    const { isReady, reason } = views.readiness()
    sendText(response, isReady ? 200 : 503, reason)
  })
  app.all('/debug/flags/v', debugFlags(views))
  finish(app, log)
  return {
    handle: app,
    forbidden: forbidHost,
    onClose: () => {
      for (const end of ends) end()
    },
  }
}
