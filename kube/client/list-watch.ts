// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import { KubeStatusError, reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { Watching, WatchStatus } from './watching.js'
import { Backoff } from './backoff.js'
import type { KubeClient } from './client.js'
import { BrokenStreamError } from './codec.js'
import { cacheQuery, listAll, pathOf, type ListRequest } from './list-pages.js'
import { Receiver, type WatchSpec } from './receiver.js'
import type { WatchEvent } from './watch-event.js'
import { IdleError, readWatch } from './watch-stream.js'

/** Times and sizes of a list/watch. */
export interface WatchOptions {
  /**
   * Objects per page of a list.
   * @default 500
   */
  readonly pageSize?: number
  /**
   * A watch that should have bookmarks and is silent for this long is closed and opened again, in milliseconds. API
   * servers send a bookmark about once a minute.
   * @default 90_000
   */
  readonly idleMs?: number
  /**
   * Whether a watch asks for bookmarks. They save a full list where the server has forgotten the version that a watch
   * is to be resumed from; each costs some 300 to 500 bytes. Without them a watch that is resumed after trouble asks for
   * bookmarks all the same until it heard something: a server that was restored from a backup stays silent.
   * @default true
   */
  readonly bookmarks?: boolean
  /**
   * How long a watch goes on before the server ends it and it is resumed, in milliseconds; a third more or less, so that
   * clients do not come back together.
   * @default 450_000
   */
  readonly watchMs?: number
  /**
   * Whether lists come from the server's memory, in one page, whatever `pageSize` is: the first one as that has it, later
   * ones not older than what is known. Otherwise each is read from etcd.
   * @default false
   */
  readonly fromCache?: boolean
  /**
   * A watch that was well and broke is opened again within so long, spread evenly, in milliseconds; where that fails, after
   * half of it to all of it each time, or later as for any other trouble. So whoever lost the same server is spread again
   * when it returns, however long that took.
   * @default 0
   */
  readonly spreadMs?: number
  /**
   * Time limit for the headers of a watch or of a page of a list, and for each pause within a page, in
   * milliseconds. A page that keeps arriving may take any time.
   * @default 30_000
   */
  readonly answerMs?: number
  /**
   * The longest wait between two attempts, in milliseconds.
   * @default 30_000
   */
  readonly longestWaitMs?: number
}

/** What a list/watch needs of the world. */
export interface WatchSeams {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** A watch that lived this long was a success; one that ends sooner may be a server that cannot watch. */
const STEADY_MS = 5_000
/**
 * So many internal errors in a row, and the next step is a full list instead of another watch from the same
 * version.
 */
const MAX_INTERNAL_ERRORS = 3
const MOST_SILENT = 32
/** How long the server is waited for after it should have ended a watch. */
const OVERTIME_MS = 60_000
/** Refusals that say nothing about the version that was asked for. */
const NOT_OF_VERSION: readonly number[] = [401, 403, 429]

class ListWatch<T, R> implements Watching {
  readonly #spec: WatchSpec<T, R>
  readonly #seams: WatchSeams
  readonly #options: Required<WatchOptions>
  readonly #receiver: Receiver<T, R>
  readonly #backoff: Backoff
  readonly #stopping = new AbortController()
  readonly #ended: Promise<void>
  #state: WatchStatus['state'] = 'listing'
  #lastHeardAt = -Infinity
  #lists = 0
  #trouble: string | undefined
  #hasComplained = false
  /** It was well, and is not yet again. */
  #isReturning = false
  /** Where to watch from; undefined asks for a full list, and so does '' once its watch has ended. */
  #version: string | undefined
  /** The newest version that was ever reached. */
  #known: string | undefined
  /** The server's memory could not give the last list: the next one has to be the newest there is. */
  #needsNewest = false
  /** Whether the server is known to have `#version` in its past. */
  #isProven = true
  #brokenLines = 0
  /** Watches in a row that sent nothing, and how many of them make us list again. */
  #silent = 0
  #silentLimit = 2

  constructor(spec: WatchSpec<T, R>, seams: WatchSeams, options: WatchOptions) {
    this.#spec = spec
    this.#seams = seams
    this.#options = {
      pageSize: 500,
      idleMs: 90_000,
      answerMs: 30_000,
      longestWaitMs: 30_000,
      bookmarks: true,
      watchMs: 450_000,
      fromCache: false,
      spreadMs: 0,
      ...options,
    }
    this.#receiver = new Receiver(spec, seams.log)
    this.#backoff = new Backoff(seams.random, this.#options.longestWaitMs)
    this.#ended = this.#run()
  }

  get status(): WatchStatus {
    return {
      state: this.#state,
      lastHeardAt: this.#lastHeardAt,
      lists: this.#lists,
      trouble: this.#trouble,
    }
  }

  stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    this.#state = 'stopped'
    return this.#ended
  }

  #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  async #run(): Promise<void> {
    // Let the caller have its handle before the first sink call.
    await Promise.resolve()
    while (!this.#isStopped()) {
      const waitMs = await this.#turn()
      if (waitMs === 0 || this.#isStopped()) continue
      this.#become('backing-off')
      await sleep(this.#seams.clock, waitMs, this.#stopping.signal)
    }
  }

  /**
   * List if there is no version to watch from, then watch until the watch ends. Returns how long to wait before
   * the next turn. Never rejects.
   */
  async #turn(): Promise<number> {
    // Counts as a failure until the watch has lived for a while.
    this.#backoff.failures++
    try {
      if (this.#version === undefined || this.#version === '') this.#version = await this.#list()
      const from = this.#version
      if (!this.#isStopped()) await this.#watch(from)
      if (this.#isStopped() || this.#backoff.failures === 0) return 0
      return this.#backOff('the server ended the watch at once')
    } catch (error) {
      return this.#isStopped() ? 0 : this.#afterError(error)
    }
  }

  async #list(): Promise<string> {
    this.#become('listing')
    const request = this.#listRequest()
    const { client } = this.#seams
    const { items, version, warning } = await listAll(
      client,
      request,
      this.#stopping.signal,
      raw => {
        this.#heard()
        return this.#receiver.view(raw)
      },
    )
    if (this.#isStopped()) return version
    this.#heard()
    this.#isProven = true
    this.#known = version === '' ? undefined : version
    this.#needsNewest = false
    this.#lists++
    this.#trouble = undefined
    this.#spec.onWarning?.(warning)
    this.#receiver.replace(Object.freeze(items))
    this.#receiver.reached(version)
    return version
  }

  #listRequest(): ListRequest<R> {
    const { path, query, codec } = this.#spec
    const { pageSize, answerMs: timeoutMs, fromCache } = this.#options
    if (!fromCache || this.#needsNewest) return { path, query, pageSize, timeoutMs, codec }
    const cached = { ...query, ...cacheQuery(this.#known) }
    return { path, query: cached, pageSize: 0, timeoutMs, codec }
  }

  /** How long the next watch goes on, and how long it may be silent. */
  #plan(): { readonly seconds: number; readonly bookmarks: boolean; readonly idleMs: number } {
    const { idleMs, bookmarks, watchMs } = this.#options
    const isProof = !bookmarks && !this.#isProven
    const middle = (isProof ? idleMs : watchMs) / 1000
    const seconds =
      Math.round((middle * 2) / 3) + this.#seams.random.below(1 + Math.round((middle * 2) / 3))
    if (bookmarks || isProof) return { seconds, bookmarks: true, idleMs }
    return { seconds, bookmarks, idleMs: seconds * 1000 + OVERTIME_MS }
  }

  /** Resolves when the server ended the watch, rejects when anything else did; the connection is gone by then. */
  async #watch(version: string): Promise<void> {
    const { client, clock } = this.#seams
    const { answerMs } = this.#options
    const { what, codec } = this.#spec
    const { seconds, bookmarks, idleMs } = this.#plan()
    const query = {
      ...this.#spec.query,
      watch: 'true',
      ...(bookmarks ? { allowWatchBookmarks: 'true' } : {}),
      timeoutSeconds: String(seconds),
      resourceVersion: version,
    }
    const path = pathOf(this.#spec.path, query)
    const call = { method: 'GET', path, accept: codec.accept.watch } as const
    const answer = await client.open(call, answerMs, this.#stopping.signal)
    this.#heard()
    this.#become('watching')
    const openedAt = this.#lastHeardAt
    let hasSpoken = false
    const take = (event: WatchEvent<R>): boolean => {
      hasSpoken = true
      if (!this.#isStopped()) this.#take(event)
      return !this.#isStopped()
    }
    const cancel = clock.after(STEADY_MS, () => this.#steady())
    try {
      const reader = codec.makeReader(what, answer.response.headers['content-type'] ?? '')
      await readWatch({ what, answer, reader, clock, idleMs, take })
    } finally {
      cancel()
      this.#countSilence(hasSpoken, clock.now() - openedAt)
    }
  }

  #take(event: WatchEvent<R>): void {
    this.#heard()
    // What a list without a version is followed by may miss what went in between: the next step is another list.
    if (this.#version !== '') this.#version = event.version
    this.#known = event.version
    this.#isProven = true
    if (event.type === 'DELETED') this.#receiver.remove(event.key)
    else if (event.type !== 'BOOKMARK') this.#receiver.upsert(event.object)
    this.#receiver.reached(event.version)
  }

  #become(state: WatchStatus['state']): void {
    this.#state = state
    this.#receiver.changed()
  }

  #heard(): void {
    this.#lastHeardAt = this.#seams.clock.now()
  }

  #steady(): void {
    this.#backoff.succeeded()
    this.#isReturning = false
    this.#trouble = undefined
    if (this.#hasComplained) this.#seams.log.info('watch recovered', { what: this.#spec.what })
    this.#hasComplained = false
  }

  /**
   * After the server's store was restored from a backup, our version may lie in its future: a watch from it stays
   * silent for ever, so list again. Servers without bookmarks are silent too: this happens at growing intervals.
   */
  #countSilence(hasSpoken: boolean, livedMs: number): void {
    if (hasSpoken) {
      this.#silent = 0
      this.#silentLimit = 2
    } else if (livedMs >= this.#options.idleMs && ++this.#silent >= this.#silentLimit) {
      this.#version = undefined
      this.#silent = 0
      this.#silentLimit = Math.min(MOST_SILENT, this.#silentLimit * 2)
    }
  }

  #afterError(error: unknown): number {
    // Whoever answers next may be another server, or the same one with an older store.
    this.#isProven = false
    if (this.#mustRelist(error)) this.#version = undefined
    if (error instanceof KubeStatusError) this.#refused(error.status)
    if (error instanceof BrokenStreamError) this.#brokenLines++
    const retryAfterMs = error instanceof KubeStatusError ? error.retryAfterMs : undefined
    // Closing an idle watch is a precaution; it is worth a warning only if the next one does not open.
    return this.#backOff(reasonOf(error), retryAfterMs, error instanceof IdleError)
  }

  #refused(status: number): void {
    if (status === 410) {
      this.#backoff.expired()
      // It was waited for long enough: the server is back.
      this.#isReturning = false
    }
    if (this.#state !== 'listing') return
    this.#needsNewest ||= !NOT_OF_VERSION.includes(status)
    this.#spec.onRefused?.(status)
  }

  /** Whether only a full list can help. */
  #mustRelist(error: unknown): boolean {
    if (error instanceof BrokenStreamError) return true
    if (!(error instanceof KubeStatusError)) return false
    const { status } = error
    if (status === 500) return this.#backoff.failures > MAX_INTERNAL_ERRORS
    return status < 500 && !NOT_OF_VERSION.includes(status)
  }

  #backOff(trouble: string, retryAfterMs = 0, isQuiet = false): number {
    const waitMs = Math.max(this.#backoff.waitMs(), retryAfterMs, this.#spreadMs())
    this.#trouble = trouble
    this.#complain(trouble, Math.round(waitMs), isQuiet)
    return waitMs
  }

  #spreadMs(): number {
    const { spreadMs } = this.#options
    if (spreadMs === 0) return 0
    const { random } = this.#seams
    if (this.#isReturning) return spreadMs / 2 + random.below(Math.ceil(spreadMs / 2))
    this.#isReturning = this.#backoff.failures === 0
    return this.#isReturning ? random.below(spreadMs) : 0
  }

  /** Warn once, until the watch has recovered. */
  #complain(trouble: string, waitMs: number, isQuiet: boolean): void {
    const level = isQuiet || this.#hasComplained ? 'debug' : 'warn'
    const { what } = this.#spec
    const lines = this.#brokenLines === 0 ? {} : { brokenLines: this.#brokenLines }
    this.#seams.log[level]('watch trouble', { what, error: trouble, waitMs, ...lines })
    this.#hasComplained ||= !isQuiet
  }
}

/** Follow a list of objects for ever: list, watch, and on trouble wait, then watch on or list again. */
export const listWatch = <T, R>(
  spec: WatchSpec<T, R>,
  seams: WatchSeams,
  options: WatchOptions = {},
): Watching => new ListWatch(spec, seams, options)
