// SPDX-License-Identifier: Apache-2.0
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import type { ByteHold, Source } from '../../net/byte-budget.js'
import type { Target } from '../serve/target.js'
import type { Stored } from '../store/stored.js'
import type { PassedRequest } from './passed-request.js'
import { endToEnd, requestHeaders, withLength } from './headers.js'
import type { HeldBodies } from './held-bodies.js'
import type { OpenCall, UpstreamAnswer, UpstreamPool } from './upstream-call.js'
import { showVersion } from './versions.js'

/** Time limit for response headers; kube-apiserver itself gives up after a minute. */
const ANSWER_MS = 70_000
const CUT_ANSWER_MS = 5_000

/** Numbers that only grow, since the start. */
export interface ProxyCounts {
  passed: number
  upgraded: number
  /** Answered 503, because the apiserver could not be reached. */
  unreachable: number
}

/** A request on its way to the apiserver. */
export interface Passing {
  readonly asked: PassedRequest
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Undefined: there is none, or it is streamed. */
  readonly body: Buffer | undefined
  /** The budget that the body uses. */
  readonly hold?: ByteHold
  /** Whose budgets it uses; undefined with a body that is streamed. */
  readonly source?: Source
}

interface ForwarderSeams {
  readonly pool: UpstreamPool
  readonly bodies: HeldBodies
  readonly counts: ProxyCounts
  /** The object as we serve it now; undefined when we do not serve it. */
  readonly recordOf: (target: Target) => Stored | undefined
  /** Whether the apiserver is known to be unreachable: then requests need not wait long. */
  readonly isCut: () => boolean
}

/** Stream a body as fast as the apiserver reads it. What it does not read is discarded. */
const stream = (from: IncomingMessage, to: ClientRequest): void => {
  from.pipe(to)
  to.once('close', () => {
    from.unpipe(to)
    from.resume()
  })
}

/** Takes one request to the apiserver, and the answer back. */
export class Forwarder {
  readonly #seams: ForwarderSeams

  constructor(seams: ForwarderSeams) {
    this.#seams = seams
  }

  /** How long to wait for the head of an answer. @param isLong of a watch, or of an upgrade */
  answerMs(isLong: boolean): number | undefined {
    if (this.#seams.isCut()) return CUT_ANSWER_MS
    return isLong ? undefined : ANSWER_MS
  }

  /** Resolves when the answer has been passed on. Rejects when it could not be, or the apiserver gave none. */
  async pass(passing: Passing): Promise<void> {
    const answer = await this.#ask(passing)
    try {
      if (answer.kind === 'upgrade')
        throw new Error('it switched to a protocol that was not requested')
      await this.#answer(passing, answer.response)
    } catch (error) {
      // A response that cannot be passed on must not stay open, unread.
      answer.response.socket.destroy()
      throw error
    }
  }

  async #answer({ asked, response, hold }: Passing, from: IncomingMessage): Promise<void> {
    const { statusCode = 502, statusMessage, rawHeaders } = from
    const headers = endToEnd(rawHeaders)
    response.sendDate = false
    const isPlain = from.headers['content-encoding'] === undefined
    this.#seams.counts.passed++
    if (asked.isDryRun && isPlain && statusCode === 200 && hold !== undefined) {
      const whole = await this.#seams.bodies.ofAnswer(from, hold)
      const record = this.#seams.recordOf(asked.written!)
      const body = showVersion(whole, from.headers['content-type'] ?? '', record)
      response.writeHead(statusCode, statusMessage, withLength(headers, body)).end(body)
      return
    }
    response.writeHead(statusCode, statusMessage, headers)
    // Send the headers now, since a watch may be silent for long. `flushHeaders` would encode the bytes of headers as
    // UTF-8.
    response.write('', 'latin1')
    await new Promise<void>(resolve => pipeline(from, response, () => resolve()))
  }

  async #ask(passing: Passing): Promise<UpstreamAnswer> {
    const first = await this.#send(passing, passing.asked.isRepeatable)
    try {
      return await first.answer
    } catch (error) {
      if (!first.wasStale(error) || passing.response.destroyed) throw error
      return (await this.#send(passing, false)).answer
    }
  }

  async #send({ asked, request, response, body }: Passing, isPooled: boolean): Promise<OpenCall> {
    const { method = 'GET', url = '/' } = request
    const { host } = await this.#seams.pool.server()
    const headers = requestHeaders(request.rawHeaders, host)
    const call = await this.#seams.pool.open({
      ...{ method, url, answerMs: this.answerMs(asked.isLong), isPooled },
      headers: body === undefined ? headers : withLength(headers, body),
    })
    // When the client disconnects, its request is aborted.
    const leave = (): void => {
      if (!response.writableFinished) call.request.destroy()
    }
    response.once('close', leave)
    call.request.once('close', () => response.off('close', leave))
    if (response.destroyed) leave()
    if (body !== undefined) call.request.end(body)
    else if (asked.hasBody) stream(request, call.request)
    else call.request.end()
    return call
  }
}
