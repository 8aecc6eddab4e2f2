// SPDX-License-Identifier: Apache-2.0
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { hostOf } from '../../core/address.js'
import { WithheldError } from '../../core/errors.js'
import { readWhole } from '../../net/read-whole.js'
import type { ReadRefusal } from './codec.js'
import type { WriteGuard } from './write.js'
import type { Material } from './credentials.js'

/** One HTTP request, as the apiserver gets it. */
export interface KubeCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query. */
  readonly path: string
  readonly body?: { readonly type: string; readonly text: string }
  /** @default 'application/json' */
  readonly accept?: string
  /** Reads what `accept` makes of a refusal. @default refusals are JSON */
  readonly readRefusal?: ReadRefusal | undefined
  /** Ask for gzip; for answers that may be large. */
  readonly compressed?: boolean
  /** Without credentials, and without anything that the server does not need. */
  readonly isAnonymous?: boolean
  /** If all connections are busy, open one more instead of waiting. */
  readonly isUrgent?: boolean
  /** The request is made in the name of this token's bearer, without the client's own credentials. */
  readonly token?: string | undefined
  readonly guard?: WriteGuard | undefined
  /** In place of the client's own. */
  readonly userAgent?: string
}

/** `PATCH /api/v1/nodes/n1`: how errors and logs name a call. */
export const nameOf = (call: KubeCall): string => `${call.method} ${call.path.split('?', 1)[0]!}`

/** A response whose headers have arrived. */
export interface OpenResponse {
  readonly status: number
  /** The HTTP status text. */
  readonly phrase: string
  readonly headers: IncomingHttpHeaders
  /** The connection, which may carry others, too. */
  readonly socket: Socket
  /** HTTP/2: the connection is reset unless the other end answers within this time. */
  readonly mustAnswer?: (withinMs: number) => void
  /** Grows with each byte of this response that arrives; a decompressor may hold bytes back for long. */
  readonly received: { readonly bytesRead: number }
  /** The body, decompressed where the server compressed it. */
  readonly body: Readable
  /** Break it off: the body's reader gets this error. */
  destroy(error: Error): void
  /** Discard the rest of the body; resolves when the request's connection is closed or free again. */
  end(): Promise<void>
}

/**
 * What became of a request without an answer: `unprocessed` if the server has certainly not carried it out, `perhaps
 * unprocessed` if it was sent on a kept connection that turned out to be closed.
 */
type Fate = 'unprocessed' | 'perhaps unprocessed' | 'unknown'

/** A request failed before its answer began. */
export class NoAnswerError extends Error {
  readonly fate: Fate
  constructor(cause: Error, fate: Fate) {
    super(cause.message, { cause })
    this.fate = fate
  }
}

/** Who sends a call. */
export interface Caller {
  readonly material: Material
  readonly userAgent: string
}

/** Who sends a call, and over which connections. */
interface Sender extends Caller {
  readonly agent: http.Agent
}

/** The headers of a request. */
export const headersOf = (call: KubeCall, sender: Caller): Record<string, string | number> =>
  call.isAnonymous === true
    ? {}
    : {
        accept: call.accept ?? 'application/json',
        'user-agent': call.userAgent ?? sender.userAgent,
        ...(call.compressed === true ? { 'accept-encoding': 'gzip' } : {}),
        ...(call.body === undefined
          ? {}
          : {
              'content-type': call.body.type,
              'content-length': Buffer.byteLength(call.body.text),
            }),
        ...sender.material.headers,
        ...(call.token === undefined ? {} : { authorization: `Bearer ${call.token}` }),
      }

const startRequest = (call: KubeCall, sender: Sender): ClientRequest => {
  const { server } = sender.material
  const request = (server.protocol === 'https:' ? https : http).request({
    protocol: server.protocol,
    hostname: hostOf(server),
    port: server.port,
    method: call.method,
    path: server.pathname.replace(/\/$/, '') + call.path,
    headers: headersOf(call, sender),
    agent: sender.agent,
  })
  // Kept connections are HTTP/1.1's default; Node.js would send the header all the same.
  request.removeHeader('connection')
  return request
}

/** Call back when the request has a connection that takes its bytes at once. */
const whenConnected = (request: ClientRequest, ready: () => void): void => {
  request.once('socket', socket => {
    // Missing in Node's types; a plain socket has none.
    const { secureConnecting } = socket as { secureConnecting?: boolean }
    if (secureConnecting === true) socket.once('secureConnect', ready)
    else if (socket.connecting) socket.once('connect', ready)
    else ready()
  })
}

/**
 * Send it. With a guard, wait until the connection is open, and send only if the guard then gives no reason
 * against it.
 */
const send = (request: ClientRequest, call: KubeCall): void => {
  const { guard, body } = call
  if (guard === undefined) {
    request.end(body?.text)
    return
  }
  whenConnected(request, () => {
    const reason = guard()
    if (reason === undefined) request.end(body?.text)
    else request.destroy(new WithheldError(nameOf(call), reason))
  })
}

const closed = (request: ClientRequest): Promise<void> =>
  new Promise(resolve => {
    if (request.closed) resolve()
    else request.once('close', resolve)
  })

/** The body, decompressed where its headers say that it is compressed. */
export const inflated = (body: Readable, headers: IncomingHttpHeaders): Readable => {
  if (headers['content-encoding'] !== 'gzip') return body
  const inflater = createGunzip()
  // Errors reach the reader through `inflater`.
  pipeline(body, inflater, () => undefined)
  return inflater
}

/**
 * Send a request; resolves when the answer's headers are there. The signal ends it at any time, later too.
 * Rejects with NoAnswerError, with the request's connection already gone.
 */
export const openResponse = async (
  call: KubeCall,
  sender: Sender,
  signal: AbortSignal,
): Promise<OpenResponse> => {
  const request = startRequest(call, sender)
  const abort = (): void => {
    request.destroy(new Error('aborted'))
  }
  const gone = closed(request)
  signal.addEventListener('abort', abort, { once: true })
  void gone.then(() => signal.removeEventListener('abort', abort))
  if (signal.aborted) abort()
  let response: IncomingMessage
  try {
    response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve)
      request.once('error', reject)
      // An answer that Node.js passes to nobody, such as 101, closes it without an error.
      request.once('close', () => reject(new Error('the connection was closed')))
      send(request, call)
    })
  } catch (error) {
    await gone
    const { code } = error as NodeJS.ErrnoException
    const wasStale = request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')
    const fate = wasStale && !signal.aborted ? 'perhaps unprocessed' : 'unknown'
    throw new NoAnswerError(error as Error, fate)
  }
  // Errors after the headers reach the reader of the body; without a listener they would also be uncaught.
  request.on('error', () => undefined)
  response.on('error', () => undefined)
  const { statusCode: status = 0, statusMessage: phrase = '', headers, socket } = response
  return {
    ...{ status, phrase, headers, socket, received: socket, body: inflated(response, headers) },
    destroy: error => void response.destroy(error),
    end: () => {
      if (!response.complete) request.destroy()
      else response.resume()
      return gone
    },
  }
}

/**
 * Read a whole body.
 * @throws RangeError when it is larger than `maxBytes` (after inflating); else what broke the connection.
 */
export const readBody = ({ body }: OpenResponse, maxBytes: number): Promise<Buffer> =>
  readWhole(body, maxBytes, () => new RangeError(`the answer is larger than ${maxBytes} bytes`))
