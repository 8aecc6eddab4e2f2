// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { KubeStatusError } from '../../core/errors.js'
import type { Random } from '../../core/random.js'
import { Backoff } from '../../kube/backoff.js'

/** Requests that came to nothing, one after the other, and until when to send none. */
interface Failing {
  readonly backoff: Backoff
  until: number
}

/** Whether the trouble is the apiserver's rather than that of one object. */
const isEverybodys = (error: unknown): boolean =>
  !(error instanceof KubeStatusError) ||
  error.status === 429 ||
  error.status >= 500 ||
  error.retryAfterMs !== undefined

/**
 * How long to leave an apiserver alone that refuses, and one Node that it refuses: ever longer, with jitter, up to half
 * a minute, and never shorter than it asks for (`Retry-After`, which `kube/` bounds). After a refusal of its own a Node
 * waits longer than the apiserver does, so that one that is always refused lets the others pass.
 */
export class Patience {
  readonly #clock: Clock
  readonly #random: Random
  readonly #nodes = new Map<string, Failing>()
  readonly #apiserver: Failing

  constructor(seams: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = seams.clock
    this.#random = seams.random
    this.#apiserver = this.#fresh()
  }

  /** The apiserver refused last: one request at a time will do, until it takes one. */
  get isDoubtful(): boolean {
    return this.#apiserver.backoff.failures > 0
  }

  /** Before this nothing is sent to the apiserver; without a node: nothing that could as well be left out. */
  readyAt(node?: string): number {
    const own = node === undefined ? undefined : this.#nodes.get(node)
    return Math.max(this.#apiserver.until, own?.until ?? -Infinity)
  }

  /** A request came to nothing. @param node whom it was about; undefined for an Event. */
  failed(error: unknown, node?: string): void {
    const asked = error instanceof KubeStatusError ? (error.retryAfterMs ?? 0) : 0
    const from = this.#clock.now() + asked
    if (isEverybodys(error)) this.#fail(this.#apiserver, from)
    if (node === undefined) return
    const own = this.#nodes.get(node) ?? this.#fresh()
    this.#nodes.set(node, own)
    this.#fail(own, Math.max(from, this.#apiserver.until))
  }

  /** The apiserver took a request about the node. */
  succeeded(node: string): void {
    this.#apiserver.backoff.succeeded()
    this.#nodes.delete(node)
  }

  /** The link is cut. When it is back the first request is due at once, unless the apiserver asked us to wait. */
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
