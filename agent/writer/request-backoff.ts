// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { KubeStatusError } from '../../core/errors.js'
import type { Random } from '../../core/random.js'
import { Backoff } from '../../kube/client/backoff.js'

/** Consecutive failed requests, and until when to send no more. */
interface Failing {
  readonly backoff: Backoff
  until: number
}

/** Whether the failure concerns all requests, not only those about one object. */
const isGeneral = (error: unknown): boolean =>
  !(error instanceof KubeStatusError) ||
  error.status === 429 ||
  error.status >= 500 ||
  error.retryAfterMs !== undefined

/**
 * Exponential backoff with jitter, up to half a minute, after failed requests: for the apiserver, and for each Node. Never
 * shorter than a `Retry-After` (which `kube/` bounds). A Node whose request failed waits longer than the others, so that
 * one whose requests always fail does not hold them up.
 */
export class RequestBackoff {
  readonly #clock: Clock
  readonly #random: Random
  readonly #nodes = new Map<string, Failing>()
  readonly #apiserver: Failing

  constructor(seams: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = seams.clock
    this.#random = seams.random
    this.#apiserver = this.#fresh()
  }

  /** The last request failed: send one at a time, until one succeeds. */
  get isFailing(): boolean {
    return this.#apiserver.backoff.failures > 0
  }

  /** When the next request about the node may be sent; without a node, one that may be left out, such as an Event. */
  readyAt(node?: string): number {
    const own = node === undefined ? undefined : this.#nodes.get(node)
    return Math.max(this.#apiserver.until, own?.until ?? -Infinity)
  }

  /** A request failed. @param node the Node that it was about; undefined for an Event */
  failed(error: unknown, node?: string): void {
    const asked = error instanceof KubeStatusError ? (error.retryAfterMs ?? 0) : 0
    const from = this.#clock.now() + asked
    if (isGeneral(error)) this.#fail(this.#apiserver, from)
    if (node === undefined) return
    const own = this.#nodes.get(node) ?? this.#fresh()
    this.#nodes.set(node, own)
    this.#fail(own, Math.max(from, this.#apiserver.until))
  }

  /** A request about the node succeeded. */
  succeeded(node: string): void {
    this.#apiserver.backoff.succeeded()
    this.#nodes.delete(node)
  }

  /** The link is cut. Once it is back the first request is due at once, unless the apiserver asked us to wait longer. */
  linkLost(): void {
    this.#apiserver.backoff.succeeded()
    this.#nodes.clear()
  }

  /** Forget who left. */
  keepOnly(isKept: (node: string) => boolean): void {
    for (const node of this.#nodes.keys()) if (!isKept(node)) this.#nodes.delete(node)
  }

  #fresh(): Failing {
    return { backoff: new Backoff(this.#random), until: -Infinity }
  }

  #fail(failing: Failing, from: number): void {
    failing.backoff.failures++
    failing.until = from + failing.backoff.waitMs()
  }
}
