// SPDX-License-Identifier: Apache-2.0
import { KnownVersion } from './known-version.js'
import type { ListFrom } from './list-pages.js'
import { isOlderVersion } from './version-order.js'

/** HTTP statuses that say nothing about the version that was asked for. */
export const NOT_ABOUT_VERSION: readonly number[] = [401, 403, 429]
/** Nor does a proxy that finds no server. Otherwise all clients that lost a server would read etcd when it is back. */
const NO_SERVER: readonly number[] = [502, 503]

/**
 * Says which state to ask for in each list, so that none is older than what is known. A server whose cache has not come so
 * far, or whose store was restored from a backup, refuses. Then the next list is read from etcd, and its state counts.
 */
export class ListPoint {
  readonly #known: KnownVersion
  /** The version that the last list had to be at least as new as. */
  #asked: string | undefined
  /** The server's cache could not answer the last list. */
  #mustReadNewest = false
  /** The store is another one, and has not been listed since. */
  #isRestored = false

  /** @param known shared with others who list the same resource */
  constructor(known = new KnownVersion()) {
    this.#known = known
  }

  /** Which state to ask for in the next list. */
  begin(): ListFrom {
    this.#asked = this.#isRestored ? undefined : this.#known.newest
    return this.#isRestored || this.#mustReadNewest ? null : this.#asked
  }

  /**
   * The list came.
   * @param version '' where the server gives lists no version
   * @returns whether it is of an older store than what was known
   */
  listed(version: string): boolean {
    const isOlder = this.#asked !== undefined && isOlderVersion(version, this.#asked)
    if (isOlder || this.#isRestored || version === '') this.#known.restart(version)
    else this.#known.reached(version)
    this.#mustReadNewest = this.#isRestored = false
    return isOlder
  }

  /** An event or another read told of this version. */
  reached(version: string): void {
    this.#known.reached(version)
  }

  /** The server refused the list, with this HTTP status. */
  refused(status: number): void {
    this.#mustReadNewest ||= !NOT_ABOUT_VERSION.includes(status) && !NO_SERVER.includes(status)
  }

  /** The store is another one: the next list is read from etcd. */
  restored(): void {
    this.#isRestored = true
  }
}
