// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import { reasonOf } from '../../core/errors.js'
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import { Refusal, statusBody } from '../../kube/server/status.js'
import type { Resource } from '../store/resources.js'
import type { Store } from '../store/store.js'
import { JSON_TYPE, negotiate } from './accept.js'
import { Answers, INTERNAL, internal, type AnswerCounts, type Asked } from './answers.js'
import { makeFormat, type Format } from './formats.js'
import { isInStore, parseReadRequest } from './read-request.js'
import { sendWhole } from './send.js'
import { StoreWaits } from './store-waits.js'
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
  /**
   * Called for each request for this resource, which may have to be listed and watched from now on.
   * @returns false: the resource is not in the store, and the request is passed on
   */
  readonly wanted?: (resource: Resource, request: IncomingMessage) => Promise<boolean>
}

/** Numbers of requests, since the start. */
export interface ReadCounts extends AnswerCounts {
  /** Requests that we refused with a Status. */
  refused: number
  passed: number
}

/** For refusals before an encoding was negotiated. */
const PLAIN: Pick<Format, 'type' | 'refusal'> = {
  type: JSON_TYPE,
  refusal: refusal => Buffer.from(`${JSON.stringify(statusBody(refusal))}\n`),
}

const pathOf = ({ url }: IncomingMessage): string | undefined => url?.split('?', 1)[0]

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
  readonly #ownNode: string | undefined
  readonly #seams: ReadsSeams
  readonly #waits: StoreWaits
  readonly #answers: Answers

  constructor(options: ReadsOptions, seams: ReadsSeams) {
    const { fillMs = 10_000, versionMs = 3_000, bookmarkMs = 60_000, ownNode } = options
    this.#ownNode = ownNode
    this.#seams = seams
    const { store, clock, random } = seams
    this.#waits = new StoreWaits({ store, clock }, { fillMs, versionMs })
    this.watches = new Watches({ store, clock, random, log: seams.log, bookmarkMs })
    const { counts, watches } = this
    this.#answers = new Answers({ store, clock, waits: this.#waits, watches, counts })
  }

  /** Answer a request or pass it on. Never throws. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.#handle(request, response).catch((error: unknown) => {
      this.#seams.log.error('a read failed', {
        path: pathOf(request),
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
    const read = parseReadRequest(request)
    if (read === undefined) {
      this.#pass(request, response)
      return
    }
    let format: Format | undefined
    try {
      const encoding = negotiate(request.headers.accept)
      const { row, apiVersion } = read.target
      if (encoding !== 'pass') format = makeFormat(encoding, row, apiVersion)
      if (format === undefined || !isInStore(read, this.#ownNode)) {
        this.#pass(request, response)
        return
      }
      const signal = closeSignal(response)
      await this.#answer({ ...read, request, response, format, signal })
    } catch (error) {
      if (!(error instanceof Refusal) || response.headersSent) throw error
      if (error.reason === INTERNAL)
        this.#seams.log.error('a read failed', { path: pathOf(request), error: error.said })
      this.#refuse(response, format, error)
    }
  }

  async #answer(asked: Asked): Promise<void> {
    const { request, response, target, signal } = asked
    const { resource } = target.row
    if ((await this.#seams.wanted?.(resource, request)) === false) {
      if (!response.destroyed) this.#pass(request, response)
      return
    }
    this.#warn(asked)
    // Errors in the query are answered at once, before the wait for the list.
    const answer = this.#answers.prepare(asked)
    const state = await this.#waits.filled(resource, signal)
    if (response.destroyed) return
    if (state === 'absent') {
      response.removeHeader('Warning')
      this.#pass(request, response)
      return
    }
    this.#warn(asked)
    await answer()
  }

  /** Set the `Warning` header that the apiserver sent with its list; refusals have it too. */
  #warn({ response, target }: Asked): void {
    const { warning } = this.#seams.store.table(target.row.resource)
    if (warning !== undefined) response.setHeader('Warning', warning)
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
