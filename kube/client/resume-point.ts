// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError } from '../../core/errors.js'
import { BrokenStreamError } from './codec.js'
import type { KnownVersion } from './known-version.js'
import type { ListFrom } from './list-pages.js'
import { ListPoint, NOT_ABOUT_VERSION } from './list-point.js'
import { isOlderVersion } from './version-order.js'

/** After more internal errors in a row than this, list again instead of watching from the same version. */
const MAX_INTERNAL_ERRORS = 3
/** Silent watches in a row after which we list again: at first, and at most. */
const FIRST_SILENT_LIMIT = 2
const LAST_SILENT_LIMIT = 32
/** The same for watches that were not asked for bookmarks: they are long, so that lists are rare anyway. */
const QUIET_LIMIT = 2

/** How a watch ended. */
export interface WatchEnd {
  /** Anything arrived: an event or a bookmark. */
  readonly hasSpoken: boolean
  /** As a share, 0 to 1, of the silence after which it ends by itself: a proxy between us and the server may end it sooner. */
  readonly length: number
  /** It was asked for bookmarks. */
  readonly bookmarks: boolean
  /** The server ended it before its time: it may have been replaced by another one. */
  readonly isEarly: boolean
  /** It brought objects no newer than where it began. */
  readonly hasReplayed: boolean
}

/** Where a list/watch goes on: from which version to watch, or that a full list is needed, and of what kind. */
export class ResumePoint {
  readonly #onLost: (why: string) => void
  /** Where to watch from; undefined asks for a full list, and so does '' once its watch has ended. */
  #version: string | undefined
  #newest: string | undefined
  readonly #lists: ListPoint
  #isConfirmed = true
  #internalErrors = 0
  /** Watches with bookmarks in a row that sent nothing, by their length, and how many of them make us list again. */
  #silent = 0
  #silentLimit = FIRST_SILENT_LIMIT
  /** The same without bookmarks, where silence is the rule. */
  #quiet = 0

  /**
   * @param onLost called when a full list is needed again, with the reason
   * @param known shared with others that list the same resource
   */
  constructor(onLost: (why: string) => void, known?: KnownVersion) {
    this.#onLost = onLost
    this.#lists = new ListPoint(known)
  }

  /** Where to watch from; undefined: list first. */
  get version(): string | undefined {
    return this.#version === '' ? undefined : this.#version
  }

  /**
   * Whether the server has shown that the version is in its past. After an error, or a watch that ended before its time,
   * it may be another server, or have an older store.
   */
  get isConfirmed(): boolean {
    return this.#isConfirmed
  }

  /** Whether a full list is needed before the next watch. */
  get isLost(): boolean {
    return this.#version === undefined
  }

  /** The newest version that this list/watch itself ever received. */
  get newest(): string | undefined {
    return this.#newest
  }

  /** Which state to ask for in the next list. */
  beginList(): ListFrom {
    return this.#lists.begin()
  }

  /**
   * @param version '' where the server gives lists no version
   * @returns whether it is of an older store than what was known
   */
  listed(version: string): boolean {
    this.#version = version
    this.#newest = version === '' ? undefined : version
    this.#isConfirmed = true
    this.#internalErrors = 0
    this.#silent = 0
    this.#quiet = 0
    return this.#lists.listed(version)
  }

  /**
   * A bookmark arrived.
   * @throws BrokenStreamError where the server has not come as far as it had before: its store is another one
   */
  marked(version: string): void {
    if (this.#newest !== undefined && isOlderVersion(version, this.#newest))
      throw new BrokenStreamError(`the version went back from ${this.#newest} to ${version}`)
    this.reached(version)
  }

  /** An event arrived. */
  reached(version: string): void {
    // After a list without a version, events between list and watch may be missing: list again when the watch ends.
    if (this.#version !== '') this.#version = version
    this.#newest = version
    this.#lists.reached(version)
    this.#isConfirmed = true
    this.#internalErrors = 0
  }

  /**
   * A watch has ended. After the server's store was restored from a backup, our version may lie in its future, and a watch
   * from it stays silent for ever: so list again. Servers without bookmarks are silent too, so this becomes rarer.
   */
  ended({ hasSpoken, length, bookmarks, isEarly, hasReplayed }: WatchEnd): void {
    if (isEarly) this.#isConfirmed = false
    if (hasSpoken) {
      this.#silent = this.#quiet = 0
      this.#silentLimit = FIRST_SILENT_LIMIT
    } else if (!bookmarks) {
      this.#quiet += length
      if (this.#quiet >= QUIET_LIMIT) this.#lose('silence')
    } else if ((this.#silent += length) >= this.#silentLimit) {
      this.#lose('silence')
      this.#silent = 0
      this.#silentLimit = Math.min(LAST_SILENT_LIMIT, this.#silentLimit * 2)
    }
    // The cache that they come from may have missed a deletion, which no later watch would bring.
    if (hasReplayed) this.#lose('the watch came from a cache')
  }

  failed(error: unknown): void {
    this.#isConfirmed = false
    const isInternal = error instanceof KubeStatusError && error.status === 500
    // A request that never reached the server says nothing about its state: it is no such error, and ends no series of them.
    if (isInternal) this.#internalErrors++
    const why = whyRelist(error)
    if (why !== undefined) this.#lose(why)
    else if (this.#internalErrors > MAX_INTERNAL_ERRORS) this.#lose('errors 500')
  }

  /** The store is another one. */
  restored(): void {
    this.#lose('restored store')
    this.#newest = undefined
    this.#lists.restored()
  }

  /** The server refused a list, with this HTTP status. */
  listRefused(status: number): void {
    this.#lists.refused(status)
  }

  #lose(why: string): void {
    if (this.version !== undefined) this.#onLost(why)
    this.#version = undefined
  }
}

/** Why only a full list can help; undefined where it is not needed. */
const whyRelist = (error: unknown): string | undefined => {
  if (error instanceof BrokenStreamError) return 'broken event'
  if (!(error instanceof KubeStatusError)) return undefined
  const { status } = error
  return status < 500 && !NOT_ABOUT_VERSION.includes(status) ? `status ${status}` : undefined
}
