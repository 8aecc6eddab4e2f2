// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { serviceUnavailable, versionTooLarge } from '../../kube/server/status.js'
import type { Resource } from '../store/resources.js'
import type { Store } from '../store/store.js'
import { isOurs } from '../store/versions.js'
import { until } from './until.js'

interface StoreWaitsSeams {
  readonly store: Store
  readonly clock: Clock
}

/** Time limits, in milliseconds. */
interface StoreWaitsOptions {
  readonly fillMs: number
  readonly versionMs: number
}

/** Waits until the store has what a request needs. Both end early, without an error, when the signal aborts. */
export class StoreWaits {
  readonly #seams: StoreWaitsSeams
  readonly #options: StoreWaitsOptions

  constructor(seams: StoreWaitsSeams, options: StoreWaitsOptions) {
    this.#seams = seams
    this.#options = options
  }

  /**
   * Wait until the resource has been listed: a partial list is never served.
   * @returns `absent`: the apiserver does not serve this resource
   * @throws Refusal 503
   */
  async filled(resource: Resource, signal: AbortSignal): Promise<'filled' | 'absent'> {
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
   * Wait until the store is not older than `version`: one of ours, or one of the apiserver's, which a client has from a
   * write or a read that was passed on.
   * @throws Refusal 504
   */
  async reached(version: number, resource: Resource, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#seams
    const table = store.table(resource)
    const reached = (): number => (isOurs(version) ? store.versions.newest : table.upstreamVersion)
    await until(() => version <= reached(), {
      clock,
      signal,
      ms: this.#options.versionMs,
      subscribe: wake => (isOurs(version) ? table.subscribe(wake) : table.onReached(wake)),
    })
    if (version > reached() && !signal.aborted) throw versionTooLarge(version, reached())
  }
}
