// SPDX-License-Identifier: Apache-2.0
import { isOlderVersion } from './version-order.js'

/** How far a resource is known. Whoever lists and watches it for one purpose shares this, so that no list is older than another. */
export class KnownVersion {
  #newest: string | undefined

  /** Undefined while nothing is known, or where lists have no version. */
  get newest(): string | undefined {
    return this.#newest
  }

  /** Everything up to this version is known; an older one is no news, such as that of a server whose cache lags. */
  reached(version: string): void {
    if (this.#newest === undefined || !isOlderVersion(version, this.#newest)) this.#newest = version
  }

  /** The store is another one, and has come this far. @param version '' where that cannot be known */
  restart(version: string): void {
    this.#newest = version === '' ? undefined : version
  }
}
