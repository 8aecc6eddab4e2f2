// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { KubeStatusError } from '../../../core/errors.js'
import type { Random } from '../../../core/random.js'
import { Backoff } from '../../../kube/client/backoff.js'
import type { ApiBackoff } from '../../api-backoff.js'
import { keepOnly } from '../../keep-only.js'

/** Consecutive failed requests about one object, and until when to send no more. */
interface Failing {
  readonly backoff: Backoff
  until: number
}

/**
 * Backoff after failed requests about Nodes, or about their Leases: one for the apiserver as a whole, and one for each
 * object. An object whose request failed waits longer than the others, so that one whose requests always fail does not
 * hold them up.
 */
export class RequestBackoff {
  readonly #clock: Clock
  readonly #random: Random
  readonly #nodes = new Map<string, Failing>()
  readonly #api: ApiBackoff

  constructor(seams: {
    readonly clock: Clock
    readonly random: Random
    readonly apiBackoff: ApiBackoff
  }) {
    this.#clock = seams.clock
    this.#random = seams.random
    this.#api = seams.apiBackoff
  }

  /** The last request failed: send one at a time, until one succeeds. */
  get isFailing(): boolean {
    return this.#api.isFailing
  }

  /** When the next request about the node may be sent; without a node, one that may be left out, such as an Event. */
  readyAt(node?: string): number {
    const own = node === undefined ? undefined : this.#nodes.get(node)
    return Math.max(this.#api.readyAt, own?.until ?? -Infinity)
  }

  /** A request leaves. */
  left(): void {
    this.#api.left()
  }

  /** A request failed. @param node the Node that it was about; undefined for an Event */
  failed(error: unknown, node?: string): void {
    this.#api.failed(error)
    if (node === undefined) return
    const own = this.#nodes.get(node) ?? { backoff: new Backoff(this.#random), until: -Infinity }
    this.#nodes.set(node, own)
    const asked = error instanceof KubeStatusError ? (error.retryAfterMs ?? 0) : 0
    own.backoff.failures++
    own.until = Math.max(this.#clock.now() + asked, this.#api.readyAt) + own.backoff.waitMs()
  }

  /** A request about the node succeeded. */
  succeeded(node: string): void {
    this.#api.succeeded()
    this.#nodes.delete(node)
  }

  /** The link is cut: what was refused before does not matter when it is back. */
  linkLost(): void {
    this.#nodes.clear()
  }

  /** Forget nodes that left the zone. */
  keepOnly(isKept: (node: string) => boolean): void {
    keepOnly(this.#nodes, isKept)
  }
}
