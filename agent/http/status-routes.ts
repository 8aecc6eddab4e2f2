// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import type { Express, Response } from 'express'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { plain } from '../../core/text.js'
import { explainText } from '../text/explain-text.js'
import { statusText } from '../text/status-text.js'
import { EventStream } from './event-stream.js'
import { queryOf, sendJson, sendText, wantsStream } from './plain.js'
import { makeStatusFeed } from './status-feed.js'
import type { Views } from './views.js'

interface StatusSeams {
  readonly views: Views
  readonly clock: Clock
  readonly log: Logger
  readonly keyOf: (request: IncomingMessage) => string | undefined
}

/** `?format=`, of which json is the default; undefined after the refusal. */
const formatOf = (request: IncomingMessage, response: Response): 'json' | 'text' | undefined => {
  const format = queryOf(request).get('format') ?? 'json'
  if (format === 'json' || format === 'text') return format
  sendText(response, 400, `format must be json or text, got ${JSON.stringify(format)}`)
  return undefined
}

const sendNode = (views: Views, name: string, request: IncomingMessage, response: Response) => {
  const format = formatOf(request, response)
  if (format === undefined) return
  const node = views.node(name)
  if (node === undefined) {
    sendText(response, 404, 'no such node in this zone')
    return
  }
  const view = { ...views.zone(), node }
  if (format === 'json') sendJson(response, view)
  else sendText(response, 200, explainText(view, plain), '')
}

const TOO_MANY = 'too many streams'

const addHistory = (app: Express, { views, clock, log, keyOf }: StatusSeams): (() => void) => {
  const stream = new EventStream(clock, log)
  const unsubscribe = views.subscribeHistory(entry =>
    stream.send({ event: 'entry', id: entry.id, data: JSON.stringify(entry) }),
  )
  app.get('/history', (request, response) => {
    const after = queryOf(request).get('after') ?? '0'
    if (!/^\d{1,15}$/.test(after)) {
      sendText(response, 400, `after must be the id of an entry, got ${JSON.stringify(after)}`)
      return
    }
    const view = views.history(Number(after))
    if (!wantsStream(request)) {
      sendJson(response, view)
      return
    }
    const id = view.entries.at(-1)?.id ?? Number(after)
    const first = { event: 'snapshot', id, data: JSON.stringify(view) }
    if (!stream.open(response, () => first, keyOf(request))) sendText(response, 503, TOO_MANY)
  })
  return () => {
    unsubscribe()
    stream.close()
  }
}

/** `/status` and `/history`, each with its stream, `/explain` and `/matrix`. @returns what ends the streams */
export const addStatusRoutes = (app: Express, seams: StatusSeams): (() => void) => {
  const { views, clock, log, keyOf } = seams
  const feed = makeStatusFeed(() => views.status(), clock, log)
  const unsubscribe = views.subscribe(() => feed.changed())
  app.get('/status', (request, response) => {
    const name = queryOf(request).get('node')
    if (name !== null) sendNode(views, name, request, response)
    else if (wantsStream(request)) {
      if (!feed.open(response, keyOf(request))) sendText(response, 503, TOO_MANY)
    } else {
      const format = formatOf(request, response)
      if (format === 'json') sendJson(response, views.status())
      else if (format === 'text') sendText(response, 200, statusText(views.status(), plain), '')
    }
  })
  app.get('/explain/:name', (request, response) =>
    sendNode(views, request.params.name, request, response),
  )
  app.get('/matrix', (_request, response) => sendJson(response, views.matrix()))
  const endHistory = addHistory(app, seams)
  return () => {
    unsubscribe()
    endHistory()
    feed.close()
  }
}
