// SPDX-License-Identifier: Apache-2.0
// An answer over an HTTP/2 connection that others use, too.
import { STATUS_CODES, type IncomingHttpHeaders } from 'node:http'
import type { ClientHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import { TimeoutError, WithheldError } from '../../core/errors.js'
import { headersOf, inflated, nameOf, NoAnswerError } from './open-response.js'
import type { Caller, KubeCall, OpenResponse } from './open-response.js'
import { CLOSED, type Http2Connection } from './http2-connection.js'

/** Codes of RFC 9113, section 7. */
const NO_ERROR = 0
const REFUSED_STREAM = 7
const CANCEL = 8

/** The caller needs no more of it. The connection stays. */
const cancel = (stream: ClientHttp2Stream): void => {
  if (!stream.closed) stream.close(CANCEL)
  stream.destroy()
}

/**
 * The body of an answer. Node.js ends the stream of a connection that broke as if it were complete; its code alone, which
 * is known at its close, tells that it is not. One that the server resets with NO_ERROR cannot be told from a complete one:
 * a document is then no JSON, and a watch resumes where it was.
 */
class Body extends Readable {
  readonly #stream: ClientHttp2Stream
  bytesRead = 0

  constructor(stream: ClientHttp2Stream, connection: Http2Connection) {
    super()
    this.#stream = stream
    let hasEnded = false
    stream.on('data', (bytes: Buffer) => {
      connection.heard()
      this.bytesRead += bytes.length
      if (!this.push(bytes)) stream.pause()
    })
    stream.once('end', () => (hasEnded = true))
    let trouble: Error | undefined
    stream.on('error', (error: Error) => (trouble = error))
    stream.once('close', () => {
      if (hasEnded && stream.rstCode === NO_ERROR && !stream.aborted) this.push(null)
      else this.destroy(trouble ?? connection.trouble ?? new Error(CLOSED))
    })
    stream.pause()
  }

  override _read(): void {
    this.#stream.resume()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    cancel(this.#stream)
    done(error)
  }
}

const begin = (call: KubeCall, caller: Caller, connection: Http2Connection): ClientHttp2Stream => {
  const reason = call.guard?.()
  if (reason !== undefined) throw new WithheldError(nameOf(call), reason)
  const { server } = caller.material
  const headers = {
    ':method': call.method,
    ':path': server.pathname.replace(/\/$/, '') + call.path,
    ...headersOf(call, caller),
  }
  try {
    const stream = connection.request(headers, call.body !== undefined)
    if (call.body !== undefined) stream.end(call.body.text)
    return stream
  } catch (error) {
    throw new NoAnswerError(error as Error, 'unprocessed')
  }
}

/** Resolves with the headers of the answer. */
const answered = (
  stream: ClientHttp2Stream,
): Promise<IncomingHttpHeaders & { ':status'?: number }> =>
  new Promise((resolve, reject) => {
    stream.once('response', resolve)
    stream.once('error', reject)
    stream.once('close', () => reject(new Error(CLOSED)))
  })

/** As `openResponse`, over a connection that is open. A guard is asked right before the request is sent. */
export const openOverHttp2 = async (
  call: KubeCall,
  { connection, ...caller }: Caller & { readonly connection: Http2Connection },
  signal: AbortSignal,
): Promise<OpenResponse> => {
  signal.throwIfAborted()
  const stream = begin(call, caller, connection)
  const gone = new Promise<void>(resolve => stream.once('close', () => resolve()))
  let isAnswered = false
  const abort = (): void => {
    // If the link is cut, a write may be in this node's kernel, and would be delivered when the link is back.
    if (!isAnswered && call.method !== 'GET') connection.withdrawn()
    else if (!isAnswered && signal.reason instanceof TimeoutError) connection.doubt()
    // Last, since a connection that is retired closes with its last request.
    cancel(stream)
  }
  signal.addEventListener('abort', abort, { once: true })
  void gone.then(() => signal.removeEventListener('abort', abort))
  let headers: IncomingHttpHeaders & { ':status'?: number }
  try {
    headers = await answered(stream)
  } catch (error) {
    await gone
    const { wasUsed, isGone, trouble } = connection
    const fate = isGone && wasUsed && !signal.aborted ? 'perhaps unprocessed' : 'unknown'
    const isRefused = stream.rstCode === REFUSED_STREAM
    throw new NoAnswerError(trouble ?? (error as Error), isRefused ? 'unprocessed' : fate)
  }
  isAnswered = true
  connection.heard()
  const body = new Body(stream, connection)
  // Errors reach the reader of the body; without a listener they would also be uncaught.
  body.on('error', () => undefined)
  const status = headers[':status'] ?? 0
  return {
    ...{ status, phrase: STATUS_CODES[status] ?? '', headers },
    mustAnswer: withinMs => connection.mustAnswer(withinMs),
    ...{ socket: connection.socket, received: body, body: inflated(body, headers) },
    destroy: error => void body.destroy(error),
    end: () => {
      body.destroy()
      return gone
    },
  }
}
