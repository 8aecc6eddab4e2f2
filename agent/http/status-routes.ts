// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import type { Express } from 'express'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { makeEventStream } from './event-stream.js'
import { queryOf, sendJson, sendText, wantsStream } from './plain.js'
import { makeStatusFeed } from './status-feed.js'
import type { Views } from './views.js'

interface StatusSeams {
  readonly views: Views
  readonly clock: Clock
  readonly log: Logger
  readonly sourceOf: (request: IncomingMessage) => string | undefined
}

const TOO_MANY = 'too many streams'

const addHistory = (app: Express, { views, clock, log, sourceOf }: StatusSeams): (() => void) => {
  const stream = makeEventStream(clock, log)
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
    if (!stream.open(response, first, sourceOf(request))) sendText(response, 503, TOO_MANY)
  })
  return () => {
    unsubscribe()
    stream.close()
  }
}

/** `/status` and `/history`, each with its stream. @returns what ends the streams */
export const addStatusRoutes = (app: Express, seams: StatusSeams): (() => void) => {
  const { views, clock, log, sourceOf } = seams
  const feed = makeStatusFeed(() => views.status(), clock, log)
  const unsubscribe = views.subscribe(() => feed.changed())
  app.get('/status', (request, response) => {
    const name = queryOf(request).get('node')
    if (name !== null) {
      const node = views.node(name)
      if (node === undefined) sendText(response, 404, 'no such node in this zone')
      else sendJson(response, { ...views.zone(), node })
    } else if (!wantsStream(request)) sendJson(response, views.status())
    else if (!feed.open(response, sourceOf(request))) sendText(response, 503, TOO_MANY)
  })
  const endHistory = addHistory(app, seams)
  return () => {
    unsubscribe()
    endHistory()
    feed.close()
  }
}
