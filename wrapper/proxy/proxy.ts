// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { Material } from '../../kube/client/credentials.js'
import { Refusal, statusBody } from '../../kube/server/status.js'
import type { Source } from '../../net/byte-budget.js'
import { sourceOf } from '../../net/socket-users.js'
import { hasLeft } from '../../net/connections.js'
import type { Sources } from '../../net/sources.js'
import type { Target } from '../serve/target.js'
import type { Stored } from '../store/stored.js'
import {
  readRequest,
  refuseOurVersion,
  type PassedRequest,
  type RequestHead,
} from './passed-request.js'
import { apiserverUnreachable } from './apiserver-unreachable.js'
import { EventQueue, type QueuedEvent, type QueueOptions, type SentEvent } from './event-queue.js'
import { Forwarder, type Passing, type ProxyCounts } from './forwarder.js'
import { endToEnd } from './headers.js'
import { HeldBodies } from './held-bodies.js'
import { sendEvent } from './send-event.js'
import { tunnel } from './tunnel.js'
import { UpstreamPool } from './upstream-call.js'
import { putVersionBack } from './versions.js'

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
  /** Tells clients apart, for the budgets of bodies and Events. @default all are one trusted program */
  readonly sources?: Sources
}

const refuse = (response: ServerResponse, refusal: Refusal): void => {
  const body = Buffer.from(`${JSON.stringify(statusBody(refusal))}\n`)
  response.writeHead(refusal.status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-cache, private',
    'Content-Length': body.length,
  })
  response.end(body)
}

/** Passes requests on to the apiserver with the callers' own credentials, and nothing of ours. */
export class Proxy {
  readonly counts: ProxyCounts = { passed: 0, upgraded: 0, unreachable: 0 }
  readonly events: EventQueue
  readonly bodies: HeldBodies
  readonly #seams: ProxySeams
  readonly #stopping = new AbortController()
  readonly #pool: UpstreamPool
  readonly #forwarder: Forwarder

  constructor(queue: QueueOptions, seams: ProxySeams) {
    this.#seams = seams
    // Each request that waits for its user listens to it.
    setMaxListeners(0, this.#stopping.signal)
    const { clock, random, log, upstream } = seams
    this.#pool = new UpstreamPool(clock, upstream)
    this.bodies = new HeldBodies(clock)
    const { counts, bodies } = this
    this.#forwarder = new Forwarder({ ...{ pool: this.#pool, counts, bodies }, ...seams })
    const send = (event: QueuedEvent, signal: AbortSignal): Promise<SentEvent> =>
      sendEvent(this.#pool, clock, event, signal)
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
    const answerMs = this.#forwarder.answerMs(true)
    tunnel({ request, socket, head }, this.#pool, answerMs).catch((error: unknown) => {
      this.#seams.log.debug('upgrade failed', { error: reasonOf(error) })
      socket.destroy()
    })
  }

  /** Call when the apiserver has answered. */
  online(): void {
    this.events.retry()
  }

  /** Running requests are ended by the listener. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.events.stop()
    this.#pool.close()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = readRequest(request as RequestHead)
    refuseOurVersion(asked)
    const passing = { asked, request, response, body: undefined }
    const readsBody = asked.hasBody && (asked.isEvent || asked.written !== undefined)
    if (!readsBody) return this.#take(passing)
    const end = (): void => void response.destroy()
    const source = await this.#sourceOf(request)
    return this.bodies.during(source, end, async hold => {
      const body = this.#putBack(asked, request, await this.bodies.ofRequest(request, hold))
      await this.#take({ ...passing, body, hold, source })
    })
  }

  async #sourceOf({ socket }: IncomingMessage): Promise<Source> {
    const { sources, clock } = this.#seams
    if (sources === undefined) return { key: 'clients', isMember: true }
    return sourceOf(socket, sources, { clock, signal: this.#stopping.signal })
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
      this.#queue(passing, 'other Events are already queued')
      return
    }
    try {
      await this.#forwarder.pass(passing)
    } catch (error) {
      if (response.destroyed || response.headersSent || error instanceof Refusal) throw error
      if (asked.isEvent) this.#queue(passing, reasonOf(error))
      else throw this.#unreachable(reasonOf(error))
    }
  }

  #unreachable(reason: string): Refusal {
    this.counts.unreachable++
    return apiserverUnreachable(reason)
  }

  #queue(passing: Passing, reason: string): void {
    const { request, response, body = Buffer.alloc(0), source } = passing
    // Nobody would hear that the Event waits, and its user may not be known any more.
    if (hasLeft(request)) throw this.#unreachable(`${reason}; the client has left`)
    const { url = '/', rawHeaders } = request
    // The Host header is set when it is sent: the apiserver's address may have changed by then.
    const headers = endToEnd(rawHeaders, ['host', 'expect', 'content-length'])
    if (!this.events.offer({ url, headers, body, source: source?.key ?? 'unknown' }))
      throw this.#unreachable(`${reason}; no room for more events`)
    // client-go expects the object of a create, in the encoding that it was sent in.
    response.writeHead(201, {
      'Content-Type': request.headers['content-type'] ?? 'application/json',
      'Content-Length': body.length,
    })
    response.end(body)
  }
}
