// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import { KubeStatusError, KubeUnreachableError, reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { Watching, WatchStatus } from './watching.js'
import { Backoff } from './backoff.js'
import type { KubeClient } from './client.js'
import { BrokenStreamError, UnusableListError } from './codec.js'
import {
  cacheQuery,
  isTooNew,
  listAll,
  pathOf,
  readVersion,
  type ListRequest,
} from './list-pages.js'
import { Receiver, type WatchSpec } from './receiver.js'
import { ResumePoint } from './resume-point.js'
import type { StoreFollower } from './store-progress.js'
import type { WatchEvent } from './watch-event.js'
import { WATCH_DEFAULTS, type WatchOptions } from './watch-options.js'
import { isOlderVersion } from './version-order.js'
import { IdleError, readWatch } from './watch-stream.js'

/** What a list/watch needs of the world. */
export interface WatchSeams {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** A watch that lasts this long counts as a success; a server that cannot watch may end it sooner. */
const STEADY_MS = 5_000
/** What a proxy answers when it finds no server behind it. */
const NO_SERVER: readonly number[] = [502, 503, 504]
/** The server may end a watch a little sooner than asked for. */
const ON_TIME = 0.95
/** How much longer than asked for a watch without bookmarks may last. */
const OVERTIME_MS = 60_000

/** Nobody answered for the server. */
const isAbsence = (error: unknown): boolean =>
  error instanceof KubeUnreachableError ||
  (error instanceof KubeStatusError && NO_SERVER.includes(error.status))

/**
 * Whether an event is older than where its watch began. KubeEdge's MetaServer begins each watch with all objects that it
 * keeps, of which the list may have newer states. A deletion is taken in any case: its version may be unknown to who tells it.
 */
const isReplay = <R>(
  event: WatchEvent<R>,
  from: string,
): event is Extract<WatchEvent<R>, { readonly object: R }> =>
  (event.type === 'ADDED' || event.type === 'MODIFIED') && isOlderVersion(event.version, from)

class ListWatch<T, R> implements Watching, StoreFollower {
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
  #isAway = false
  #hasComplained = false
  /** A steady watch broke, and none was steady since. */
  #isReturning = false
  readonly #resume: ResumePoint
  #brokenLines = 0
  /** A watch is open. */
  isWatching = false
  /** This turn has opened its watch. A failure before that is a sign that nobody answers, the watch's end is not. */
  #hasOpened = false
  /** The last request for the store's version. */
  #asked: Promise<unknown> = Promise.resolve()
  /** Ends the open watch. */
  #cut: () => void = () => undefined

  constructor(spec: WatchSpec<T, R>, seams: WatchSeams, options: WatchOptions) {
    this.#spec = spec
    this.#seams = seams
    this.#options = { ...WATCH_DEFAULTS, ...options }
    this.#receiver = new Receiver(spec, seams.log)
    const { what, known } = spec
    this.#resume = new ResumePoint(
      why => seams.log.debug('a full list is needed', { what, why }),
      known,
    )
    this.#backoff = new Backoff(seams.random, this.#options.longestWaitMs)
    seams.client.progress.follow(this)
    this.#ended = this.#run()
  }

  get status(): WatchStatus {
    return {
      state: this.#state,
      lastHeardAt: this.#lastHeardAt,
      lists: this.#lists,
      trouble: this.#trouble,
      isAway: this.#isAway,
    }
  }

  listAgain(): void {
    this.#resume.restored()
    this.#cut()
  }

  async stop(): Promise<void> {
    this.#seams.client.progress.leave(this)
    this.#stopping.abort(new Error('stopped'))
    this.#state = 'stopped'
    await Promise.all([this.#ended, this.#asked])
  }

  get newest(): string | undefined {
    return this.#resume.newest
  }

  presentVersion(): Promise<string> {
    const { path, query, codec } = this.#spec
    const { client } = this.#seams
    const { answerMs: timeoutMs } = this.#options
    const request = { path, query, codec, timeoutMs }
    const version = readVersion(client, request, this.#stopping.signal)
    this.#asked = version.catch(() => undefined)
    return version
  }

  #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  async #run(): Promise<void> {
    // Let the caller have its handle before the first sink call.
    await Promise.resolve()
    while (!this.#isStopped()) {
      const waitMs = await this.#listAndWatch()
      if (waitMs === 0 || this.#isStopped()) continue
      this.#become('backing-off')
      await sleep(this.#seams.clock, waitMs, this.#stopping.signal)
    }
  }

  /**
   * List if there is no version to watch from, then watch until the watch ends. Never rejects.
   * @returns milliseconds to wait before the next call
   */
  async #listAndWatch(): Promise<number> {
    // Counts as a failure until the watch has lived for a while.
    this.#backoff.failures++
    this.#hasOpened = false
    try {
      await this.#seams.client.progress.check(this)
      const from = this.#resume.version ?? (await this.#list())
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
    client.progress.listed(this, version, this.#resume.listed(version))
    this.#lists++
    this.#trouble = undefined
    this.#isAway = false
    this.#spec.onWarning?.(warning)
    this.#receiver.replace(Object.freeze(items))
    this.#receiver.reached(version)
    return version
  }

  #listRequest(): ListRequest<R> {
    const { path, query, codec } = this.#spec
    const { pageSize, answerMs: timeoutMs, fromCache } = this.#options
    const from = this.#resume.beginList()
    if (!fromCache || from === null) return { path, query, pageSize, timeoutMs, codec }
    return { path, query: { ...query, ...cacheQuery(from) }, pageSize: 0, timeoutMs, codec }
  }

  /**
   * How long the next watch lasts, and how long it may be silent. A list without a version comes from a server that cannot
   * reach the cloud. KubeEdge's MetaServer never tells the cloud of a watch that begins meanwhile, so that one stays short.
   * @param from '' where the list had no version
   */
  #plan(from: string): {
    readonly seconds: number
    readonly bookmarks: boolean
    readonly idleMs: number
  } {
    const { idleMs, bookmarks, watchMs } = this.#options
    const isTrial = !bookmarks && !this.#resume.isConfirmed
    const middle = (isTrial || from === '' ? idleMs : watchMs) / 1000
    const seconds =
      Math.round((middle * 2) / 3) + this.#seams.random.below(1 + Math.round((middle * 2) / 3))
    if (bookmarks || isTrial) return { seconds, bookmarks: true, idleMs }
    return { seconds, bookmarks, idleMs: seconds * 1000 + OVERTIME_MS }
  }

  /** Resolves when the server ends the watch, rejects when anything else does; its connection is closed by then. */
  async #watch(version: string): Promise<void> {
    const { client, clock } = this.#seams
    const { answerMs } = this.#options
    const { what, codec } = this.#spec
    const { seconds, bookmarks, idleMs } = this.#plan(version)
    const query = {
      ...this.#spec.query,
      watch: 'true',
      ...(bookmarks ? { allowWatchBookmarks: 'true' } : {}),
      timeoutSeconds: String(seconds),
      resourceVersion: version,
    }
    const path = pathOf(this.#spec.path, query)
    const { accept, readRefusal } = codec
    const call = { method: 'GET', path, accept: accept.watch, readRefusal } as const
    const answer = await client.open(call, answerMs, this.#stopping.signal)
    this.#heard()
    this.isWatching = this.#hasOpened = true
    this.#become('watching')
    this.#cut = () => answer.destroy(new Error('the store is another one'))
    if (this.#resume.isLost) this.#cut()
    const openedAt = this.#lastHeardAt
    let hasSpoken = false
    let hasReplayed = false
    /** Deleted before the watch began, though told only now: states that follow are news, however old. */
    const late = new Set<string>()
    const take = (event: WatchEvent<R>): boolean => {
      const isReplayed = isReplay(event, version) && !late.has(codec.keyOf(event.object))
      if (event.type === 'DELETED' && isOlderVersion(event.version, version)) late.add(event.key)
      // An apiserver sends only what is newer.
      hasReplayed ||= isReplayed || (event.type === 'ADDED' && event.version === version)
      hasSpoken ||= !isReplayed
      if (!isReplayed && !this.#isStopped()) this.#take(event)
      return !this.#isStopped()
    }
    const cancel = clock.after(STEADY_MS, () => this.#steady())
    try {
      const reader = codec.makeReader(what, answer.headers['content-type'] ?? '')
      await readWatch({ what, answer, reader, clock, idleMs, take })
    } finally {
      cancel()
      this.isWatching = false
      this.#cut = () => undefined
      const lastedMs = clock.now() - openedAt
      const askedMs = seconds * 1000
      const length = Math.min(1, lastedMs / Math.min(idleMs, askedMs))
      const isEarly = lastedMs < askedMs * ON_TIME
      this.#resume.ended({ hasSpoken, length, bookmarks, isEarly, hasReplayed })
      if (isEarly && lastedMs >= STEADY_MS) client.progress.broke(clock.now())
    }
  }

  #take(event: WatchEvent<R>): void {
    this.#heard()
    if (event.type === 'BOOKMARK') this.#resume.marked(event.version)
    else this.#resume.reached(event.version)
    this.#seams.client.progress.reached(this, event.version)
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
    this.#isAway = false
    if (this.#hasComplained) this.#seams.log.info('watch recovered', { what: this.#spec.what })
    this.#hasComplained = false
  }

  #afterError(error: unknown): number {
    // The next list is read from etcd; a watch that gets this answer may be of a store that was restored.
    const isLag = this.#resume.version === undefined && isTooNew(error)
    this.#resume.failed(error)
    this.#isAway = isAbsence(error) || error instanceof IdleError
    if (!this.#hasOpened && !isLag && isAbsence(error)) this.#seams.client.progress.wasAway()
    if (error instanceof KubeStatusError) this.#refused(error.status)
    if (error instanceof UnusableListError && this.#state === 'listing')
      this.#seams.client.progress.refused(this)
    if (error instanceof BrokenStreamError) this.#brokenLines++
    const retryAfterMs = error instanceof KubeStatusError ? error.retryAfterMs : undefined
    // An idle watch is closed as a precaution, and a cache that lags is bypassed; warn only if the next attempt fails.
    return this.#backOff(reasonOf(error), retryAfterMs, isLag || error instanceof IdleError)
  }

  #refused(status: number): void {
    if (status === 410) {
      this.#backoff.expired()
      // The server is back, and by the time of a 410 we have waited long enough: no more spreading.
      this.#isReturning = false
    }
    if (this.#state !== 'listing') return
    if (!NO_SERVER.includes(status)) this.#seams.client.progress.refused(this)
    this.#resume.listRefused(status)
    this.#spec.onRefused?.(status)
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

/** Follow a list of objects until stopped: list, watch, and after an error wait, then watch or list again. */
export const listWatch = <T, R>(
  spec: WatchSpec<T, R>,
  seams: WatchSeams,
  options: WatchOptions = {},
): Watching => new ListWatch(spec, seams, options)
