// SPDX-License-Identifier: Apache-2.0
import type { Express, Request, Response } from 'express'
import type { Logger } from '../../core/log.js'
import type { Route } from '../commun/transport.js'
import { finish, makeBareApp, sendText } from './plain.js'
import type { PeerAnswer, PeerInbox } from './views.js'

/** What the peers' listener needs. */
export interface PeerSeams {
  readonly inbox: PeerInbox
  readonly log: Logger
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

const sendAnswer = (response: Response, { status, body, headers = {} }: PeerAnswer): void => {
  const isText = typeof body === 'string'
  const bytes = isText ? Buffer.from(body) : body
  response.statusCode = status
  response.setHeader(
    'Content-Type',
    isText ? 'text/plain; charset=utf-8' : 'application/octet-stream',
  )
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.setHeader('Content-Length', bytes.length)
  response.end(bytes)
}

/**
 * What peers may ask on the node's address: the exchange, SuperEdge's `/result`, a sign of life. Everything else is
 * a 404, so that a scan of the network learns nothing. Sizes are bounded before a body is read, rates before it is
 * parsed.
 */
export const makePeerApp = ({ inbox, log }: PeerSeams): Express => {
  const app = makeBareApp()

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
      const body = await readBody(request, length)
      const from = request.socket.remoteAddress ?? ''
      if (body !== undefined) sendAnswer(response, inbox.receive(route, body, from))
    }

  app.post('/v1/gossip', take('gossip'))
  app.post('/v1/vote', take('vote'))
  // SuperEdge takes any method here.
  app.all('/result', take('result'))
  app.get('/healthz', (_request, response) => sendText(response, 200, 'ok'))
  finish(app, log)
  return app
}
