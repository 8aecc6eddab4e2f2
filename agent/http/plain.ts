// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { ErrorRequestHandler, Express } from 'express'
import express from 'express'
import type { Logger } from '../../core/log.js'
import { reasonOf } from '../../core/errors.js'

/** A whole body of this type, with the status that was set before; 200 where none was. */
export const sendBytes = (
  response: ServerResponse,
  type: string,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): void => {
  response.setHeader('Content-Type', type)
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.setHeader('Content-Length', body.length)
  response.end(body)
}

/** Go's `http.Error`, as SuperEdge's agents answer: a short text and never a guess about its type. */
export const sendText = (
  response: ServerResponse,
  status: number,
  text: string,
  end = '\n',
): void => {
  response.statusCode = status
  const headers = status >= 400 ? { 'X-Content-Type-Options': 'nosniff' } : undefined
  sendBytes(response, 'text/plain; charset=utf-8', Buffer.from(`${text}${end}`), headers)
}

/** JSON with its newline, never cached in between. */
export const sendJson = (response: ServerResponse, value: unknown): void => {
  response.statusCode = 200
  const body = Buffer.from(`${JSON.stringify(value)}\n`)
  sendBytes(response, 'application/json; charset=utf-8', body, { 'Cache-Control': 'no-store' })
}

export const queryOf = ({ url = '' }: IncomingMessage): URLSearchParams => {
  const at = url.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1))
}

/** `?stream=1` and the like. */
export const wantsStream = (request: IncomingMessage): boolean => {
  const value = queryOf(request).get('stream')
  return value !== null && value !== '0' && value !== 'false'
}

/** The answer to a request whose Host header names another host. */
export const forbidHost: RequestListener = (_request, response) =>
  sendText(response, 403, 'forbidden host')

/** An express application that adds nothing of its own to an answer, and whose paths are exact. */
export const makeBareApp = (): Express => {
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', false)
  app.set('query parser', false)
  app.set('case sensitive routing', true)
  app.set('strict routing', true)
  app.use((_request, response, next) => {
    response.sendDate = false
    next()
  })
  return app
}

/** The last two handlers: Go's 404, and a bug of ours without its stack. */
export const finish = (app: Express, log: Logger): void => {
  app.use((_request, response) => sendText(response, 404, '404 page not found'))
  const onError: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    const status = statusOf(error)
    if (status >= 500) log.error('request failed', { path: request.path, error: reasonOf(error) })
    if (response.headersSent) response.destroy()
    else sendText(response, status, status >= 500 ? 'internal error' : 'bad request')
  }
  app.use(onError)
}

/** Express marks what the client did wrong (a bad %-escape) with a 4xx `status`. */
const statusOf = (error: unknown): number => {
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  return typeof status === 'number' && status >= 400 && status < 500 ? status : 500
}
