// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import type { Express } from 'express'
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import { plain } from '../../../core/text.js'
import { boardOf, type Board } from '../../text/board.js'
import { explainText } from '../../text/explain-text.js'
import { recipesFor } from '../../text/recipes.js'
import { sendBytes, sendJson, sendText, wantsStream } from '../plain.js'
import { makeStatusFeed } from '../status-feed.js'
import type { Views } from '../views.js'
import { PAGE } from './page.js'

interface PageSeams {
  readonly views: Views
  /** The agents'. */
  readonly namespace: string
  readonly clock: Clock
  readonly log: Logger
  readonly keyOf: (request: IncomingMessage) => string | undefined
}

/** The page at `/`, and what it alone asks for, under `/page/`: no other program may rely on that. @returns what ends its streams */
export const addPageRoutes = (app: Express, seams: PageSeams): (() => void) => {
  const { views, namespace, clock, log, keyOf } = seams
  const board = (): Board => boardOf(views.status(), views.lastEntry())
  const feed = makeStatusFeed(board, clock, log)
  const unsubscribe = [
    views.subscribe(() => feed.changed()),
    views.subscribeHistory(() => feed.changed()),
  ]
  app.get('/', (_request, response) =>
    sendBytes(response, 'text/html; charset=utf-8', PAGE.body, {
      'Content-Security-Policy': PAGE.policy,
    }),
  )
  app.get('/page/board', (request, response) => {
    if (!wantsStream(request)) sendJson(response, board())
    else if (!feed.open(response, keyOf(request))) sendText(response, 503, 'too many streams')
  })
  app.get('/page/node/:name', ({ params }, response) => {
    const node = views.node(params.name)
    if (node === undefined) {
      sendText(response, 404, 'no such node in this zone')
      return
    }
    const text = explainText({ ...views.zone(), node }, plain)
    sendJson(response, { text, recipes: recipesFor(node, namespace) })
  })
  return () => {
    for (const end of unsubscribe) end()
    feed.close()
  }
}
