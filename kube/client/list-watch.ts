// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import { KubeStatusError, reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { Watching, WatchStatus } from './watching.js'
import { Backoff } from './backoff.js'
import type { KubeClient } from './client.js'
import { BrokenStreamError } from './codec.js'
import { listAll, pathOf } from './list-pages.js'
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
   * A watch that is silent for this long is closed and opened again, in milliseconds. API servers send a bookmark
   * about once a minute.
   * @default 90_000
   */
  readonly idleMs?: number
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
  /** Where to watch from; undefined asks for a full list. */
  #version: string | undefined
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
      this.#version ??= await this.#list()
      if (!this.#isStopped()) await this.#watch(this.#version)
      if (this.#isStopped() || this.#backoff.failures === 0) return 0
      return this.#backOff('the server ended the watch at once')
    } catch (error) {
      return this.#isStopped() ? 0 : this.#afterError(error)
    }
  }

  async #list(): Promise<string> {
    this.#become('listing')
    const { path, query, codec } = this.#spec
    const { pageSize, answerMs: timeoutMs } = this.#options
    const request = { path, query, pageSize, timeoutMs, codec }
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
    this.#lists++
    this.#trouble = undefined
    this.#spec.onWarning?.(warning)
    this.#receiver.replace(Object.freeze(items))
    this.#receiver.reached(version)
    return version
  }

  /** Resolves when the server ended the watch, rejects when anything else did; the connection is gone by then. */
  async #watch(version: string): Promise<void> {
    const { client, clock, random } = this.#seams
    const { answerMs, idleMs } = this.#options
    const { what, codec } = this.#spec
    const query = {
      ...this.#spec.query,
      watch: 'true',
      allowWatchBookmarks: 'true',
      // Spread out, so that agents do not come back together.
      timeoutSeconds: String(300 + random.below(301)),
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
    this.#version = event.version
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
    if (this.#mustRelist(error)) this.#version = undefined
    if (error instanceof KubeStatusError) this.#refused(error.status)
    if (error instanceof BrokenStreamError) this.#brokenLines++
    const retryAfterMs = error instanceof KubeStatusError ? error.retryAfterMs : undefined
    // Closing an idle watch is a precaution; it is worth a warning only if the next one does not open.
    return this.#backOff(reasonOf(error), retryAfterMs, error instanceof IdleError)
  }

  #refused(status: number): void {
    if (status === 410) this.#backoff.expired()
    if (this.#state === 'listing') this.#spec.onRefused?.(status)
  }

  /** Whether only a full list can help. */
  #mustRelist(error: unknown): boolean {
    if (error instanceof BrokenStreamError) return true
    if (!(error instanceof KubeStatusError)) return false
    const { status } = error
    if (status === 500) return this.#backoff.failures > MAX_INTERNAL_ERRORS
    return status < 500 && ![401, 403, 429].includes(status)
  }

  #backOff(trouble: string, retryAfterMs = 0, isQuiet = false): number {
    const waitMs = Math.max(this.#backoff.waitMs(), retryAfterMs)
    this.#trouble = trouble
    this.#complain(trouble, Math.round(waitMs), isQuiet)
    return waitMs
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
