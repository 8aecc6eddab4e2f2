// SPDX-License-Identifier: Apache-2.0
import type { Express, Request, Response } from 'express'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import { ByteBudget, OverBudgetError, type Source } from '../../net/byte-budget.js'
import { readWhole } from '../../net/read-whole.js'
import { byAddress, endOf } from '../../net/sources.js'
import { RateLimit } from '../stages/exchange/rate-limit.js'
import type { Route } from '../ports/transport.js'
import { PEER_BYTES } from './limits.js'
import { finish, makeBareApp, sendText } from './plain.js'
import type { PeerAnswer, PeerInbox } from '../ports/peer-inbox.js'

/** What the peers' listener needs. */
export interface PeerSeams {
  readonly inbox: PeerInbox
  readonly clock: Clock
  readonly log: Logger
}

/** Refused before the end of the body was read; the connection cannot be used again, since the rest is still in it. */
const refuse = (response: Response, status: number, text: string): void => {
  response.setHeader('Connection', 'close')
  sendText(response, status, text)
}

/** The declared length; undefined when there is a body without one. */
const declaredLength = (request: Request): number | undefined => {
  if (request.headers['transfer-encoding'] !== undefined) return undefined
  const { 'content-length': text } = request.headers
  if (text !== undefined) return Number(text)
  return request.method === 'POST' ? undefined : 0
}

/** Requests for a sign of life: from all members together, and as many from all strangers. */
const SIGNS = { perSecond: 5, burst: 20 }
const MEMBERS = 0

/** Messages of our own protocol go without a header that says nothing: their receiver knows what they are. */
const sendAnswer = (response: Response, { status, body, headers = {} }: PeerAnswer): void => {
  const isText = typeof body === 'string'
  const bytes = isText ? Buffer.from(body) : body
  response.statusCode = status
  if (isText) response.setHeader('Content-Type', 'text/plain; charset=utf-8')
  // Kept connections are HTTP/1.1's default; Node.js would send that header all the same, and for how long.
  else if (response.shouldKeepAlive && response.req.httpVersion === '1.1')
    response.removeHeader('Connection')
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.setHeader('Content-Length', bytes.length)
  response.end(bytes)
}

/**
 * What peers may ask on the node's address: the exchange, SuperEdge's `/result`, a sign of life. Everything else is
 * a 404, so that a scan of the network learns nothing. Sizes are bounded before a body is read, memory while it is
 * read, rates before it is parsed.
 */
export const makePeerApp = ({ inbox, clock, log }: PeerSeams): Express => {
  const app = makeBareApp()
  const sources = byAddress(address => inbox.isMember(address))
  const bodies = new ByteBudget(PEER_BYTES)
  const signs = new RateLimit(1, SIGNS)

  const sourceOf = ({ socket }: Request): Source => {
    const key = sources.keyOf(endOf(socket))
    return { key, isMember: sources.isMember(key) }
  }

  /** Undefined: it was refused, or the peer went away before the end. */
  const readBody = async (
    request: Request,
    response: Response,
    length: number,
  ): Promise<Uint8Array | undefined> => {
    const hold = bodies.open(sourceOf(request), () => void request.destroy())
    try {
      // The connection must live on for the answer.
      const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
      return await readWhole(chunks, length, () => new RangeError('longer than declared'), hold)
    } catch (error) {
      if (error instanceof OverBudgetError) refuse(response, 503, 'busy')
      return undefined
    } finally {
      hold.free()
    }
  }

  const take =
    (route: Route) =>
    async (request: Request, response: Response): Promise<void> => {
      const length = declaredLength(request)
      if (length === undefined) {
        refuse(response, 411, 'length required')
        return
      }
      if (length > inbox.maxBytes(route)) {
        refuse(response, 413, 'body too large')
        return
      }
      const body = await readBody(request, response, length)
      const from = request.socket.remoteAddress ?? ''
      if (body !== undefined) sendAnswer(response, inbox.receive(route, body, from))
    }

  app.post('/v1/gossip', take('gossip'))
  app.post('/v1/vote', take('vote'))
  // SuperEdge takes any method here.
  app.all('/result', take('result'))
  app.get('/healthz', (request, response) => {
    if (signs.take(sourceOf(request).isMember ? MEMBERS : undefined, clock.now()))
      sendText(response, 200, 'ok')
    else refuse(response, 429, 'too fast')
  })
  finish(app, log)
  return app
}
