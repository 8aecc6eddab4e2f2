// SPDX-License-Identifier: Apache-2.0
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, type Duplex } from 'node:stream'
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { ByteHold } from '../../net/byte-budget.js'
import type { Material } from '../../kube/client/credentials.js'
import { expired, Refusal, statusBody } from '../../kube/server/status.js'
import type { Target } from '../serve/target.js'
import type { Stored } from '../store/stored.js'
import { isOurs } from '../store/versions.js'
import { readRequest, type PassedRequest, type RequestHead } from './passed-request.js'
import { apiserverUnreachable } from './apiserver-unreachable.js'
import { EventQueue, type QueuedEvent, type QueueOptions, type SentEvent } from './event-queue.js'
import { endToEnd, requestHeaders, withLength } from './headers.js'
import { HeldBodies } from './held-bodies.js'
import { sendEvent } from './send-event.js'
import { tunnel } from './tunnel.js'
import { UpstreamPool, type OpenCall, type UpstreamAnswer } from './upstream-call.js'
import { putVersionBack, showVersion } from './versions.js'

/** What the proxy needs of the world. */
export interface ProxySeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** The apiserver's address and TLS material, without our credentials. */
  readonly upstream: () => Promise<Material>
  /** The object as we serve it now; undefined when we do not serve it. */
  readonly recordOf: (target: Target) => Stored | undefined
  /** Whether the apiserver is known to be unreachable: then requests need not wait long. */
  readonly isCut: () => boolean
}

/** Numbers that only grow, since the start. */
export interface ProxyCounts {
  passed: number
  upgraded: number
  /** Answered 503, because the apiserver could not be reached. */
  unreachable: number
}

/** Time limit for response headers; kube-apiserver itself gives up after a minute. */
const ANSWER_MS = 70_000
const CUT_ANSWER_MS = 5_000
const refuse = (response: ServerResponse, refusal: Refusal): void => {
  const body = Buffer.from(`${JSON.stringify(statusBody(refusal))}\n`)
  response.writeHead(refusal.status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-cache, private',
    'Content-Length': body.length,
  })
  response.end(body)
}

/**
 * The apiserver would wait in vain for one of our versions, which it never reaches.
 * @throws Refusal 410
 */
const refuseOurVersion = ({ query, read }: PassedRequest): void => {
  const version = query.get('resourceVersion') ?? ''
  if (read !== undefined && isOurs(Number(version)))
    throw expired(`resource version ${version} is not one of the apiserver's`)
}

/** Stream a body as fast as the apiserver reads it. What it does not read is discarded. */
const stream = (from: IncomingMessage, to: ClientRequest): void => {
  from.pipe(to)
  to.once('close', () => {
    from.unpipe(to)
    from.resume()
  })
}

interface Passing {
  readonly asked: PassedRequest
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Undefined: there is none, or it is streamed. */
  readonly body: Buffer | undefined
  /** The budget that the body uses. */
  readonly hold?: ByteHold
}

/** Passes requests on to the apiserver with the callers' own credentials, and nothing of ours. */
export class Proxy {
  readonly counts: ProxyCounts = { passed: 0, upgraded: 0, unreachable: 0 }
  readonly events: EventQueue
  readonly bodies: HeldBodies
  readonly #seams: ProxySeams
  readonly #pool: UpstreamPool

  constructor(queue: QueueOptions, seams: ProxySeams) {
    this.#seams = seams
    const { clock, random, log, upstream } = seams
    this.#pool = new UpstreamPool(clock, upstream)
    this.bodies = new HeldBodies(clock)
    const send = (event: QueuedEvent, signal: AbortSignal): Promise<SentEvent> =>
      sendEvent(this.#pool, event, signal)
    this.events = new EventQueue(queue, { clock, random, log, send })
  }

  /** Pass on a request whose body is unread. Never throws. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.#handle(request, response).catch((error: unknown) => {
      // The client has disconnected.
      if (response.destroyed) return
      const refusal = error instanceof Refusal ? error : apiserverUnreachable(reasonOf(error))
      if (response.headersSent) response.destroy()
      else refuse(response, refusal)
    })
  }

  /** Handles an upgrade request (exec, port-forward). Never throws. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    this.counts.upgraded++
    const answerMs = this.#answerMs(true)
    tunnel({ request, socket, head }, this.#pool, answerMs).catch((error: unknown) => {
      this.#seams.log.debug('upgrade failed', { error: reasonOf(error) })
      socket.destroy()
    })
  }

  /** Call when the apiserver is reachable again. */
  online(): void {
    this.events.retry()
  }

  /** Running requests are ended by the listener. */
  async stop(): Promise<void> {
    await this.events.stop()
    this.#pool.close()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = readRequest(request as RequestHead)
    refuseOurVersion(asked)
    const passing = { asked, request, response, body: undefined }
    const readsBody = asked.hasBody && (asked.isEvent || asked.written !== undefined)
    if (!readsBody) return this.#take(passing)
    return this.bodies.during(async hold => {
      const body = this.#putBack(asked, request, await this.bodies.ofRequest(request, hold))
      await this.#take({ ...passing, body, hold })
    })
  }

  #putBack({ written }: PassedRequest, request: IncomingMessage, body: Buffer): Buffer {
    if (written === undefined) return body
    const { method = '', headers } = request
    const write = { method, type: headers['content-type'] ?? '', target: written }
    return putVersionBack(body, write, this.#seams.recordOf(written))
  }

  async #take(passing: Passing): Promise<void> {
    const { asked, response } = passing
    // Events stay in order: later ones are queued behind earlier ones.
    if (asked.isEvent && this.events.length > 0) {
      this.#queue(passing, 'others are waiting already')
      return
    }
    try {
      await this.#pass(passing)
    } catch (error) {
      if (response.destroyed || response.headersSent || error instanceof Refusal) throw error
      if (asked.isEvent) this.#queue(passing, reasonOf(error))
      else {
        this.counts.unreachable++
        throw apiserverUnreachable(reasonOf(error))
      }
    }
  }

  #answerMs(isLong: boolean): number | undefined {
    if (this.#seams.isCut()) return CUT_ANSWER_MS
    return isLong ? undefined : ANSWER_MS
  }

  async #pass(passing: Passing): Promise<void> {
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
    this.counts.passed++
    if (asked.isDryRun && isPlain && statusCode === 200 && hold !== undefined) {
      const whole = await this.bodies.ofAnswer(from, hold)
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
    const { host } = await this.#pool.server()
    const headers = requestHeaders(request.rawHeaders, host)
    const call = await this.#pool.open({
      ...{ method, url, answerMs: this.#answerMs(asked.isLong), isPooled },
      headers: body === undefined ? headers : withLength(headers, body),
    })
    // When the client disconnects, its request is aborted.
    const leave = (): void => {
      if (!response.writableFinished) call.request.destroy()
    }
    response.once('close', leave)
    if (response.destroyed) leave()
    if (body !== undefined) call.request.end(body)
    else if (asked.hasBody) stream(request, call.request)
    else call.request.end()
    return call
  }

  #queue({ request, response, body = Buffer.alloc(0) }: Passing, reason: string): void {
    const { url = '/', rawHeaders } = request
    // The Host header is set when it is sent: the apiserver's address may have changed by then.
    const headers = endToEnd(rawHeaders, ['host', 'expect', 'content-length'])
    if (!this.events.offer({ url, headers, body })) {
      this.counts.unreachable++
      throw apiserverUnreachable(`${reason}; no room for more events`)
    }
    // client-go expects the object of a create, in the encoding that it was sent in.
    response.writeHead(201, {
      'Content-Type': request.headers['content-type'] ?? 'application/json',
      'Content-Length': body.length,
    })
    response.end(body)
  }
}
