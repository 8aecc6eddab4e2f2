// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import { reasonOf } from '../../core/errors.js'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import { parseToken } from '../../kube/server/continue-token.js'
import {
  brokenVersion,
  parseFlag,
  parseListOptions,
  parseVersion,
  parseWatchOptions,
} from '../../kube/server/list-options.js'
import {
  notFound,
  Refusal,
  serviceUnavailable,
  statusBody,
  versionTooLarge,
  type Subject,
} from '../../kube/server/status.js'
import { servedBytes } from '../store/stored.js'
import type { Resource } from '../store/resources.js'
import type { Store } from '../store/store.js'
import { isOurs } from '../store/versions.js'
import { JSON_TYPE, negotiate, takesGzip } from './accept.js'
import { makeFormat, type Format } from './formats.js'
import { exactVersion, listPage } from './lists.js'
import { parseSelection } from './selection.js'
import { sendChunks, sendWhole } from './send.js'
import { keyOf, parseTarget, type Target } from './target.js'
import { until } from './until.js'
import { Watches } from './watches.js'

/** Time limits of answers, in milliseconds. */
export interface ReadsOptions {
  /**
   * How long a request waits until its resource has been listed; then it is answered 503.
   * @default 10_000
   */
  readonly fillMs?: number
  /**
   * How long a request waits for a version that is newer than the store's; then it is answered 504.
   * @default 3_000
   */
  readonly versionMs?: number
  /** @default 60_000 */
  readonly bookmarkMs?: number
  /**
   * The only Node that the store has: reads of others, and of several, are passed on.
   * @default every Node is in the store
   */
  readonly ownNode?: string
}

/** What the answers need of the world. */
export interface ReadsSeams {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Handles requests that are not answered from the store, with the body unread. */
  readonly passThrough: (request: IncomingMessage, response: ServerResponse) => void
  /** Called for each request for this resource, which may have to be followed from now on. */
  readonly wanted?: (resource: Resource) => void
}

/** Numbers of requests, since the start. */
export interface ReadCounts {
  gets: number
  lists: number
  watches: number
  /** Requests that we refused with a Status. */
  refused: number
  passed: number
}

interface Asked {
  readonly target: Target
  readonly query: URLSearchParams
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly format: Format
  readonly signal: AbortSignal
}

const subjectOf = ({ row: { group, resource, kind } }: Target): Subject => ({
  group,
  resource,
  kind,
})

/** For refusals before an encoding was negotiated. */
const PLAIN: Pick<Format, 'type' | 'refusal'> = {
  type: JSON_TYPE,
  refusal: refusal => Buffer.from(`${JSON.stringify(statusBody(refusal))}\n`),
}

const INTERNAL = 'InternalError'
const internal = (why = 'internal error'): Refusal => new Refusal(500, INTERNAL, why)

/**
 * Encode objects; an object that cannot be encoded is named.
 * @throws Refusal 500
 */
const encoded = <T>({ row }: Target, key: string, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw internal(`${row.resource} ${key} cannot be encoded: ${reasonOf(error)}`)
  }
}

const splitUrl = (url: string): readonly [path: string, query: string] => {
  const at = url.indexOf('?')
  return at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)]
}

/** Whether it may be answered from the store: requests with impersonation are authorized by the apiserver. */
const mayAnswer = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && !Object.keys(headers).some(name => name.startsWith('impersonate-'))

/** A list with a continue token of the apiserver goes on there. */
const goesOnUpstream = ({ name }: Target, query: URLSearchParams): boolean => {
  const text = query.get('continue') ?? ''
  if (text === '' || name !== undefined) return false
  const token = parseToken(text)
  return token === undefined || (token.version !== 0 && !isOurs(token.version))
}

/** Aborts when the client disconnects. */
const closeSignal = (response: ServerResponse): AbortSignal => {
  const disconnected = new AbortController()
  response.once('close', () => disconnected.abort())
  return disconnected.signal
}

/** Answers reads from the store, and passes everything else on. */
export class Reads {
  readonly counts: ReadCounts = { gets: 0, lists: 0, watches: 0, refused: 0, passed: 0 }
  readonly watches: Watches
  readonly #options: Required<Omit<ReadsOptions, 'ownNode'>>
  readonly #ownNode: string | undefined
  readonly #seams: ReadsSeams

  constructor({ ownNode, ...options }: ReadsOptions, seams: ReadsSeams) {
    this.#ownNode = ownNode
    this.#options = { fillMs: 10_000, versionMs: 3_000, bookmarkMs: 60_000, ...options }
    this.#seams = seams
    const { store, clock, random } = seams
    const { bookmarkMs } = this.#options
    this.watches = new Watches({ store, clock, random, log: seams.log, bookmarkMs })
  }

  /** Takes over a request. Never throws. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.#handle(request, response).catch((error: unknown) => {
      this.#seams.log.error('a read failed', {
        path: request.url?.split('?', 1)[0],
        error: reasonOf(error),
      })
      if (response.headersSent) response.destroy()
      else this.#refuse(response, undefined, internal())
    })
  }

  /** End all watches. */
  stop(): void {
    this.watches.stop()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path, text] = splitUrl(request.url ?? '')
    const target = mayAnswer(request) ? parseTarget(path) : undefined
    if (target === undefined) {
      this.#pass(request, response)
      return
    }
    const query = new URLSearchParams(text)
    const isWatch =
      target.name === undefined && query.has('watch') && parseFlag(query.get('watch')!)
    let format: Format | undefined
    try {
      const encoding = negotiate(request.headers.accept)
      if (encoding === 'pass' || !this.#isKept(target, query)) {
        this.#pass(request, response)
        return
      }
      format = makeFormat(encoding, target.row, target.apiVersion)
      const signal = closeSignal(response)
      await this.#answer({ target, query, request, response, format, signal }, isWatch)
    } catch (error) {
      if (!(error instanceof Refusal) || response.headersSent) throw error
      if (error.reason === INTERNAL)
        this.#seams.log.error('a read failed', { path, error: error.said })
      this.#refuse(response, format, error)
    }
  }

  /** Whether the store has all that is asked for. @throws Refusal 400 */
  #isKept(target: Target, query: URLSearchParams): boolean {
    if (goesOnUpstream(target, query)) return false
    if (target.row.resource !== 'nodes' || this.#ownNode === undefined) return true
    return (target.name ?? parseSelection(target, query).key) === this.#ownNode
  }

  async #answer(asked: Asked, isWatch: boolean): Promise<void> {
    const { request, response, target, signal } = asked
    const { resource } = target.row
    this.#warn(asked)
    // Parse errors of the query are answered before any wait.
    const answer = isWatch
      ? this.#watch(asked)
      : target.name === undefined
        ? this.#list(asked)
        : this.#get(asked)
    this.#seams.wanted?.(resource)
    const state = await this.#ready(resource, signal)
    if (response.destroyed) return
    if (state === 'absent') {
      response.removeHeader('Warning')
      this.#pass(request, response)
      return
    }
    this.#warn(asked)
    await answer()
  }

  /** Pass on the apiserver's `Warning` header, with refusals too. */
  #warn({ response, target }: Asked): void {
    const { warning } = this.#seams.store.table(target.row.resource)
    if (warning !== undefined) response.setHeader('Warning', warning)
  }

  /**
   * Wait until the resource has been listed: a partial list is never served.
   * @throws Refusal 503
   */
  async #ready(resource: Resource, signal: AbortSignal): Promise<'filled' | 'absent'> {
    const { store, clock } = this.#seams
    const table = store.table(resource)
    await until(() => table.state !== 'empty', {
      clock,
      signal,
      ms: this.#options.fillMs,
      subscribe: wake => table.subscribe(wake),
    })
    if (table.state === 'empty' && !signal.aborted)
      throw serviceUnavailable(`${resource} are not known yet`, 1)
    return table.state === 'absent' ? 'absent' : 'filled'
  }

  /**
   * Wait until the store is not older than `version`: one of ours, or one of the apiserver's, which answers to
   * writes and reads that were passed on have.
   * @throws Refusal 504
   */
  async #reached(version: number, { target, signal }: Asked): Promise<void> {
    const { store, clock } = this.#seams
    const table = store.table(target.row.resource)
    const reached = (): number => (isOurs(version) ? store.versions.newest : table.upstreamVersion)
    await until(() => version <= reached(), {
      clock,
      signal,
      ms: this.#options.versionMs,
      subscribe: wake => (isOurs(version) ? table.subscribe(wake) : table.onReached(wake)),
    })
    if (version > reached() && !signal.aborted) throw versionTooLarge(version, reached())
  }

  #get(asked: Asked): () => Promise<void> {
    const { target, query, response, format } = asked
    const version = parseVersion(query, brokenVersion) ?? 0
    return async () => {
      await this.#reached(version, asked)
      const record = this.#seams.store.table(target.row.resource).get(keyOf(target))
      if (record === undefined) throw notFound(subjectOf(target), target.name!)
      this.counts.gets++
      const body = encoded(target, record.key, () => format.object(servedBytes(record)))
      sendWhole(response, { code: 200, type: format.type }, body)
    }
  }

  #list(asked: Asked): () => Promise<void> {
    const { target, query, request, response, format } = asked
    const chosen = parseSelection(target, query)
    const options = parseListOptions(query)
    return async () => {
      const { version = 0 } = options
      // Our store is never known to be exactly at a version of the apiserver's.
      if (exactVersion(options) === undefined || isOurs(version))
        await this.#reached(version, asked)
      if (response.destroyed) return
      const page = listPage(this.#seams.store.table(target.row.resource), target, chosen, options)
      this.counts.lists++
      let key = ''
      const items = {
        *[Symbol.iterator]() {
          for (const record of page.records) {
            key = record.key
            yield servedBytes(record)
          }
        },
      }
      const chunks = format.list(page, items)[Symbol.iterator]()
      const next = () => encoded(target, key, () => chunks.next())
      const gzip = takesGzip(request.headers['accept-encoding']?.toString())
      const head = { code: 200, type: format.type }
      await sendChunks(response, head, { [Symbol.iterator]: () => ({ next }) }, gzip)
    }
  }

  #watch(asked: Asked): () => Promise<void> {
    const { target, query, response, format } = asked
    const chosen = parseSelection(target, query)
    const options = parseWatchOptions(query, true)
    return async () => {
      try {
        if (options.sendsInitial === true) await this.#reached(options.version ?? 0, asked)
        if (response.destroyed) return
        this.counts.watches++
        this.watches.open({ target, chosen, options, format }, response)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        // From here on kube-apiserver reports errors as events of the watch.
        sendWhole(response, { code: 200, type: format.streamType }, format.error(error))
      }
    }
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    this.counts.passed++
    this.#seams.passThrough(request, response)
  }

  #refuse(response: ServerResponse, format: Format | undefined, refusal: Refusal): void {
    this.counts.refused++
    if (response.destroyed) return
    const used = format ?? PLAIN
    const seconds = refusal.details?.retryAfterSeconds
    const headers = seconds === undefined ? {} : { 'Retry-After': String(seconds) }
    const head = { code: refusal.status, type: used.type, headers }
    sendWhole(response, head, used.refusal(refusal))
  }
}
