// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import { isAnsweredByApi, KubeStatusError } from '../core/errors.js'
import type { Random } from '../core/random.js'
import { Backoff } from '../kube/client/backoff.js'

/** Whether the failure concerns all requests, not only those about one object, as any answer does that is not the API's. */
const isGeneral = (error: unknown): boolean =>
  !isAnsweredByApi(error) || error.status === 429 || error.retryAfterMs !== undefined

/**
 * When an apiserver that failed a request may be asked again, by anything in this agent: exponential backoff with jitter,
 * up to half a minute, never shorter than a `Retry-After` (which `kube/` bounds). While it fails, each request that leaves
 * puts the next one off, so that what has waited does not leave at once. The check of the cloud link alone goes by its
 * own period.
 */
export class ApiBackoff {
  readonly #clock: Clock
  readonly #backoff: Backoff
  /** Until when it asked us to wait, and until when we do so by ourselves. */
  #askedUntil = -Infinity
  #until = -Infinity

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock
    this.#backoff = new Backoff(random)
  }

  /** The last request failed: send one at a time, until one succeeds. */
  get isFailing(): boolean {
    return this.#backoff.failures > 0
  }

  /** When the next request may be sent, by `Clock.now`. */
  get readyAt(): number {
    return Math.max(this.#askedUntil, this.#until)
  }

  get isReady(): boolean {
    return this.readyAt <= this.#clock.now()
  }

  /** A request leaves. */
  left(): void {
    if (this.isFailing)
      this.#until = Math.max(this.#until, this.#clock.now() + this.#backoff.waitMs())
  }

  failed(error: unknown): void {
    if (!isGeneral(error)) return
    const asked = error instanceof KubeStatusError ? (error.retryAfterMs ?? 0) : 0
    const now = this.#clock.now()
    this.#askedUntil = Math.max(this.#askedUntil, now + asked)
    this.#backoff.failures++
    this.#until = Math.max(now, this.#askedUntil) + this.#backoff.waitMs()
  }

  succeeded(): void {
    this.#startOver()
  }

  /** The cloud link was lost, or is back: the first request is due at once, unless the apiserver asked us to wait. */
  linkChanged(): void {
    this.#startOver()
  }

  #startOver(): void {
    this.#backoff.succeeded()
    this.#until = -Infinity
  }
}
