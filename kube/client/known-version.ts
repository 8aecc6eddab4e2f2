// SPDX-License-Identifier: Apache-2.0
import { isOlderVersion } from './version-order.js'

/** The newest known version of a resource. All that list and watch it for one purpose share this, so that no list is older. */
export class KnownVersion {
  #newest: string | undefined

  /** Undefined while nothing is known, or where lists have no version. */
  get newest(): string | undefined {
    return this.#newest
  }

  /** Everything up to this version is known; an older one changes nothing, such as that of a server whose cache lags. */
  reached(version: string): void {
    if (this.#newest === undefined || !isOlderVersion(version, this.#newest)) this.#newest = version
  }

  /** The store is another one, and is at this version. @param version '' where that cannot be known */
  restart(version: string): void {
    this.#newest = version === '' ? undefined : version
  }
}
