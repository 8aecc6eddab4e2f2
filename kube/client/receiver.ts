// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { WatchSink } from './watching.js'
import type { Codec } from './codec.js'
import type { KnownVersion } from './known-version.js'

/** What to list and watch, and who receives it. */
export interface WatchSpec<T, R = unknown> {
  /** As logs and errors call it: `nodes`. */
  readonly what: string
  readonly path: string
  /** Selectors. */
  readonly query: Readonly<Record<string, string>>
  /** @throws InvalidInputError for an object that cannot be used; it is logged once and left out. */
  readonly parse: (raw: R) => T
  readonly codec: Codec<R>
  readonly sink: WatchSink<T>
  /** The newest known version, shared with others that list this resource: lists from the server's cache are not older. */
  readonly known?: KnownVersion | undefined
  /** Called for each list that the server refuses, by its HTTP status. */
  readonly onRefused?: (status: number) => void
  /** Called with the server's warnings about a list, before the sink gets the list. */
  readonly onWarning?: (warning: string | undefined) => void
}

/** Objects whose errors are remembered; beyond that, broken objects are left out without a log line. */
const MAX_REFUSED = 1_000

/** Between a list/watch and its sink: turns raw objects into views, and lets neither a bad object nor a bad sink end the watch. */
export class Receiver<T, R> {
  readonly #spec: WatchSpec<T, R>
  readonly #log: Logger
  /** Keys and errors of objects that were left out, so that each is logged once. */
  readonly #refused = new Map<string, string>()

  constructor(spec: WatchSpec<T, R>, log: Logger) {
    this.#spec = spec
    this.#log = log
  }

  /** The object as its users see it; undefined when it cannot be used. */
  view(raw: R): T | undefined {
    const key = this.#spec.codec.keyOf(raw)
    try {
      const item = this.#spec.parse(raw)
      this.#refused.delete(key)
      return item
    } catch (error) {
      const reason = reasonOf(error)
      const isNews = this.#refused.get(key) !== reason && this.#refused.size < MAX_REFUSED
      if (isNews) {
        this.#refused.set(key, reason)
        this.#log.warn('object left out', { what: this.#spec.what, name: key, error: reason })
      }
      return undefined
    }
  }

  replace(items: readonly T[]): void {
    this.#guarded(() => this.#spec.sink.replace(items))
  }

  /** A broken object changes nothing: the last usable state of it stays. */
  upsert(raw: R): void {
    const item = this.view(raw)
    if (item !== undefined) this.#guarded(() => this.#spec.sink.upsert(item))
  }

  remove(key: string): void {
    this.#refused.delete(key)
    this.#guarded(() => this.#spec.sink.remove(key))
  }

  reached(version: string): void {
    this.#guarded(() => this.#spec.sink.reached?.(version))
  }

  changed(): void {
    this.#guarded(() => this.#spec.sink.changed?.())
  }

  #guarded(call: () => void): void {
    try {
      call()
    } catch (error) {
      const { what } = this.#spec
      this.#log.error('bug: the receiver of a watch threw', { what, error: reasonOf(error) })
    }
  }
}
