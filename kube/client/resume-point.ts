// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError } from '../../core/errors.js'
import { BrokenStreamError } from './codec.js'
import { cacheQuery } from './list-pages.js'

/** After more internal errors in a row than this, list again instead of watching from the same version. */
const MAX_INTERNAL_ERRORS = 3
/** Silent watches in a row after which we list again: at first, and at most. */
const FIRST_SILENT_LIMIT = 2
const LAST_SILENT_LIMIT = 32
/** HTTP statuses that say nothing about the version that was asked for. */
const NOT_ABOUT_VERSION: readonly number[] = [401, 403, 429]

/** Where a list/watch goes on: from which version to watch, or that a full list is needed, and of what kind. */
export class ResumePoint {
  readonly #onLost: (why: string) => void
  /** Where to watch from; undefined asks for a full list, and so does '' once its watch has ended. */
  #version: string | undefined
  /** The newest version ever received. */
  #newest: string | undefined
  /** The server's cache could not answer the last list: read the next one from etcd. */
  #mustReadNewest = false
  #isConfirmed = true
  #internalErrors = 0
  /** Watches in a row that sent nothing, by their length, and how many of them make us list again. */
  #silent = 0
  #silentLimit = FIRST_SILENT_LIMIT

  /** @param onLost called when a full list is needed again, with the reason */
  constructor(onLost: (why: string) => void) {
    this.#onLost = onLost
  }

  /** Where to watch from; undefined: list first. */
  get version(): string | undefined {
    return this.#version === '' ? undefined : this.#version
  }

  /** Whether the server has shown that the version is one of its past. After an error it may be another server, or have an older store. */
  get isConfirmed(): boolean {
    return this.#isConfirmed
  }

  /** What the next list from the cache is asked for; undefined: it has to be read from etcd. */
  get cacheQuery(): Readonly<Record<string, string>> | undefined {
    return this.#mustReadNewest ? undefined : cacheQuery(this.#newest)
  }

  /** @param version '' where the server gives lists no version */
  listed(version: string): void {
    this.#version = version
    this.#newest = version === '' ? undefined : version
    this.#isConfirmed = true
    this.#internalErrors = 0
    this.#silent = 0
    this.#mustReadNewest = false
  }

  /** An event or a bookmark arrived. */
  reached(version: string): void {
    // After a list without a version, events between list and watch may be missing: list again when the watch ends.
    if (this.#version !== '') this.#version = version
    this.#newest = version
    this.#isConfirmed = true
    this.#internalErrors = 0
  }

  /**
   * A watch has ended. After the server's store was restored from a backup, our version may lie in its future, and a watch
   * from it stays silent for ever: so list again. Servers without bookmarks are silent too, so this becomes rarer.
   * @param length of a silence that says something, from 0 to 1: what is between us and the server may end a watch sooner
   */
  ended(hasSpoken: boolean, length: number): void {
    if (hasSpoken) {
      this.#silent = 0
      this.#silentLimit = FIRST_SILENT_LIMIT
    } else if ((this.#silent += length) >= this.#silentLimit) {
      this.#lose('silence')
      this.#silent = 0
      this.#silentLimit = Math.min(LAST_SILENT_LIMIT, this.#silentLimit * 2)
    }
  }

  failed(error: unknown): void {
    this.#isConfirmed = false
    const isInternal = error instanceof KubeStatusError && error.status === 500
    // What never reached the server says nothing about its state: it is no such error, and ends no row of them.
    if (isInternal) this.#internalErrors++
    const why = whyRelist(error)
    if (why !== undefined) this.#lose(why)
    else if (this.#internalErrors > MAX_INTERNAL_ERRORS) this.#lose('errors 500')
  }

  /** The server refused a list, with this HTTP status. */
  listRefused(status: number): void {
    this.#mustReadNewest ||= !NOT_ABOUT_VERSION.includes(status)
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
