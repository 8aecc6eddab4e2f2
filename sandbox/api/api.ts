// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import { readWhole } from '../../net/read-whole.js'
import { bearer, Clients } from './clients.js'
import type { Link } from './link.js'
import { Objects, type Call } from './objects.js'
import { parsePath } from './paths.js'
import { MAX_BODY } from './read.js'
import {
  isDryRunOf,
  recordedRequest,
  TOKEN_REQUEST,
  TOKEN_REVIEWS,
  type RecordedRequest,
} from './recorded-request.js'
import { Resources } from './resources.js'
import * as routes from './routes.js'
import { Refusal, statusBody, tooLarge, unauthorized } from '../../kube/server/status.js'
import { Store } from './store.js'
import { shapeFor, Writer } from './view.js'
import { Watcher } from './watch.js'
import { parseWatch } from './watch-options.js'

/** How the embedded API is run. */
export interface ApiOptions {
  /** Address to listen on, without brackets. */
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly clock: Clock
  readonly log: Logger
  /** Changes remembered per resource: a watch or a continued list from before them gets 410. @default 1000 */
  readonly history?: number | undefined
  /** How often a watch that allows bookmarks gets one, in ms. @default 60_000 */
  readonly bookmarkPeriodMs?: number | undefined
  /** Lines that may wait for a slow watcher before its watch ends with 410. @default 1000 */
  readonly watchBuffer?: number | undefined
  /**
   * The client that requests without a token belong to; undefined answers them with 401. kubectl never sends a token
   * over plain HTTP, so a demo that people look into with kubectl names one here.
   */
  readonly anonymous?: string | undefined
  /** How a watch from a forgotten version is refused: in its stream, as today's servers do, or by the HTTP status. @default 'stream' */
  readonly expiredWatch?: 'stream' | 'status' | undefined
  /** False refuses `sendInitialEvents` with 422, as servers before 1.34 do. @default true */
  readonly watchList?: boolean | undefined
}

const MAX_RECORDED = 10_000
const SYSTEM_NAMESPACES = ['default', 'kube-node-lease', 'kube-public', 'kube-system']

const readBody = (request: IncomingMessage): Promise<Buffer> =>
  readWhole(request, MAX_BODY, () => tooLarge(`Request entity too large: limit is ${MAX_BODY}`))

const send = (response: ServerResponse, answer: routes.Answer): void => {
  response.writeHead(answer.code, {
    'Content-Type': answer.type ?? 'application/json',
    'Cache-Control': 'no-cache, private',
    'Content-Length': Buffer.byteLength(answer.text),
  })
  response.end(answer.text)
}

interface Parts {
  readonly path: string
  readonly query: URLSearchParams
}

const split = (url: string): Parts => {
  const at = url.indexOf('?')
  return at < 0
    ? { path: url, query: new URLSearchParams() }
    : { path: url.slice(0, at), query: new URLSearchParams(url.slice(at + 1)) }
}

/** The HTTP server: authentication, the state of the client's link, and the response. */
export class Api {
  readonly store: Store
  readonly requests: RecordedRequest[] = []
  readonly #options: ApiOptions
  readonly #clients: Clients
  readonly #watchers = new Set<Watcher>()
  readonly #writer: Writer
  readonly #objects: Objects
  readonly #routes: routes.Routes
  readonly #resources: Resources

  constructor(options: ApiOptions) {
    this.#options = options
    this.store = new Store(options.history ?? 1000)
    this.#resources = new Resources(this.store)
    this.#writer = new Writer(() => options.clock.wall())
    this.#objects = new Objects(this.store, options.clock)
    this.#routes = new routes.Routes(this.store, this.#objects, this.#writer)
    this.#clients = new Clients(options.anonymous)
    const namespaces = parsePath('/api/v1/namespaces', this.#resources)!
    for (const name of SYSTEM_NAMESPACES)
      this.#objects.create({ ...namespaces, dryRun: false }, { metadata: { name } })
  }

  /** @returns its token */
  addClient(name: string): string {
    return this.#clients.add(name)
  }

  link(client: string): Link {
    return this.#clients.link(client)
  }

  /** Never rejects: every failure becomes a response. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts = split(request.url ?? '/')
    const link = this.#clients.linkOf(request, parts.path)
    if (link === undefined) {
      const isOpen = bearer(request) === undefined && !this.#clients.isAnyCut
      const plain = isOpen ? this.#anonymous(parts.path) : undefined
      request.resume()
      send(response, plain ?? this.#refused(unauthorized()))
      return
    }
    link.adopt(request.socket)
    if (link.state === 'refused') {
      request.socket.resetAndDestroy()
      return
    }
    if (link.state === 'silent') await new Promise<void>(resolve => link.whenUp(resolve))
    if (response.destroyed) return
    try {
      const body = await readBody(request)
      link.whenUp(() => this.#handle({ request, response, body, link, ...parts }))
    } catch (error) {
      if (!(error instanceof Refusal)) return // the client disconnected while it was sending
      response.setHeader('Connection', 'close')
      send(response, this.#refused(error))
    }
  }

  endWatches(): void {
    for (const watcher of this.#watchers) watcher.end()
  }

  #handle(given: Given): void {
    const { request, response, path, query } = given
    if (response.destroyed) return
    const method = request.method ?? 'GET'
    const at = parsePath(path, this.#resources)
    const asked = { method, headers: request.headers, query, body: given.body }
    let verb = method.toLowerCase()
    const record = (status: number): void =>
      this.#record(recordedRequest(given, at, { client: given.link.client, verb, status }))
    try {
      if (at === undefined) {
        const answer = this.#plain(asked, path)
        record(answer.code)
        send(response, answer)
        return
      }
      const call: Call = { ...at, ...writerOf(request, query) }
      const known = routes.verbOf(method, call, query)
      verb = known
      if (known === 'watch') {
        this.#watch(given, call)
        record(200)
        return
      }
      const answer = this.#routes.answer(known, call, asked)
      record(answer.code)
      send(response, answer)
    } catch (error) {
      const answer = this.#refused(error)
      record(answer.code)
      send(response, answer)
    }
  }

  #plain(asked: routes.Asked, path: string): routes.Answer {
    if (path === TOKEN_REVIEWS && asked.method === 'POST')
      return routes.answerTokenReview(asked, token => this.#clients.withToken(token))
    const account = asked.method === 'POST' ? TOKEN_REQUEST.exec(path) : null
    if (account !== null)
      return routes.answerTokenRequest(asked, `system:serviceaccount:${account[1]!}:${account[2]!}`, client => this.addClient(client)) // prettier-ignore
    const { rows } = this.#resources
    const reads = asked.method === 'GET' || asked.method === 'HEAD'
    return (reads ? routes.answerPlain(path, rows) : undefined) ?? routes.answerNothing(path, rows)
  }

  #watch({ request, response, link, query }: Given, call: Call): void {
    const { clock, watchBuffer = 1000, bookmarkPeriodMs = 60_000 } = this.#options
    const { watchList = true, expiredWatch = 'stream' } = this.#options
    const shape = shapeFor(request.headers.accept, call.row, query)
    const options = parseWatch(call, query, { version: this.store.version, watchList })
    const seams = {
      store: this.store,
      writer: this.#writer,
      clock,
      link,
      buffer: watchBuffer,
      bookmarkPeriodMs,
    }
    const watcher = new Watcher({ ...call, shape }, options, seams, response)
    this.#watchers.add(watcher)
    response.once('close', () => this.#watchers.delete(watcher))
    try {
      watcher.run()
    } catch (error) {
      if (expiredWatch === 'status' || !(error instanceof Refusal)) throw error
      watcher.fail(error)
    }
  }

  #refused(error: unknown): routes.Answer {
    const refusal =
      error instanceof Refusal ? error : new Refusal(500, 'InternalError', reasonOf(error))
    if (refusal !== error)
      this.#options.log.error('embedded API failed', { error: reasonOf(error) })
    return { code: refusal.status, text: `${JSON.stringify(statusBody(refusal))}\n` }
  }

  /** What unauthenticated clients may read. */
  #anonymous(path: string): routes.Answer | undefined {
    return path.startsWith('/api') ? undefined : routes.answerPlain(path, this.#resources.rows)
  }

  #record(request: RecordedRequest): void {
    if (this.requests.length >= MAX_RECORDED) this.requests.splice(0, MAX_RECORDED / 10)
    this.requests.push(request)
  }
}

interface Given extends Parts {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body: Buffer
  readonly link: Link
}

/** dryRun and fieldManager of a write: the first word of `User-Agent` where the query has no manager. */
const writerOf = (
  { headers }: IncomingMessage,
  query: URLSearchParams,
): Pick<Call, 'dryRun' | 'manager'> => ({
  dryRun: isDryRunOf(query),
  manager: query.get('fieldManager') ?? headers['user-agent']?.split('/')[0],
})
