// SPDX-License-Identifier: Apache-2.0
import type { Express, Request, Response } from 'express'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { Route } from '../commun/transport.js'
import { finish, isLoopback, makeBareApp, sendText } from './plain.js'
import { makeRate, type RateLimit } from './rate.js'
import type { PeerAnswer, Receive } from './views.js'

/** What the peers' listener needs. */
export interface PeerSeams {
  readonly receive: Receive
  /** Members of the roster: they bound the size of a message. */
  readonly members: () => number
  readonly clock: Clock
  readonly log: Logger
  /** For each source address that is not loopback. @default 20/s, 60 at once */
  readonly rate?: RateLimit
}

const KIB = 1_024

/**
 * The largest body that a zone of this size has a use for. Twice the members and at least 64, since a peer's roster
 * may be ahead of ours, or ours not known yet.
 */
export const bodyLimit = (route: Route, members: number): number => {
  const n = Math.max(64, 2 * members)
  if (route === 'result') return Math.min(512 * KIB, KIB + 96 * n)
  return Math.min(KIB * KIB, 256 + 16 * n + Math.ceil((n * n) / 8))
}

/** Refused before a byte of the body was read; the connection cannot be used again, since the body is still in it. */
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

/** Reads exactly `length` bytes into one buffer; undefined when the peer went away before. */
const readBody = (request: Request, length: number): Promise<Uint8Array | undefined> =>
  new Promise(resolve => {
    const body = Buffer.allocUnsafeSlow(length)
    let filled = 0
    request.on('data', (chunk: Buffer) => {
      filled += chunk.copy(body, filled)
    })
    request.on('end', () => resolve(filled === length ? body : undefined))
    request.on('close', () => resolve(undefined))
    request.on('error', () => resolve(undefined))
  })

const sendAnswer = (response: Response, route: Route, answer: PeerAnswer): void => {
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body
  response.statusCode = answer.status
  const type = route === 'result' ? 'text/plain; charset=utf-8' : 'application/octet-stream'
  response.setHeader('Content-Type', type)
  if (route === 'result' && answer.status >= 400)
    response.setHeader('X-Content-Type-Options', 'nosniff')
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value)
  response.setHeader('Content-Length', body.length)
  response.end(body)
}

/**
 * What peers may ask on the node's address: the exchange, SuperEdge's `/result`, a sign of life. Everything else is
 * a 404, so that a scan of the network learns nothing. Sizes and rates are bounded before a body is read.
 */
export const makePeerApp = (seams: PeerSeams): Express => {
  const app = makeBareApp()
  const rate = makeRate(seams.clock, seams.rate ?? { perSecond: 20, burst: 60 })

  const take =
    (route: Route) =>
    async (request: Request, response: Response): Promise<void> => {
      const from = request.socket.remoteAddress ?? ''
      const length = declaredLength(request)
      if (length === undefined) {
        refuse(response, 411, 'length required')
        return
      }
      if (length > bodyLimit(route, seams.members())) {
        refuse(response, 413, 'body too large')
        return
      }
      if (!isLoopback(from) && !rate.allow(from)) {
        refuse(response, 429, 'too many requests')
        return
      }
      const body = await readBody(request, length)
      if (body !== undefined) sendAnswer(response, route, seams.receive(route, body, from))
    }

  app.post('/v1/gossip', take('gossip'))
  app.post('/v1/vote', take('vote'))
  // SuperEdge takes any method here.
  app.all('/result', take('result'))
  app.get('/healthz', (_request, response) => sendText(response, 200, 'ok'))
  finish(app, seams.log)
  return app
}
