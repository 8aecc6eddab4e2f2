// SPDX-License-Identifier: Apache-2.0
import type { Logger } from '../core/log.js'

/** Objects of a resource that could not be read, and why. Each new reason is logged. */
export class LeftOut {
  readonly #what: string
  readonly #log: Logger
  readonly #troubles = new Map<string, string>()

  /** @param what the resource, for the log */
  constructor(what: string, log: Logger) {
    this.#what = what
    this.#log = log
  }

  get size(): number {
    return this.#troubles.size
  }

  keys(): Iterable<string> {
    return this.#troubles.keys()
  }

  why(key: string): string | undefined {
    return this.#troubles.get(key)
  }

  /** @param trouble undefined: it was read, or is gone */
  set(key: string, trouble: string | undefined): void {
    const known = this.#troubles.get(key)
    if (trouble === undefined) this.#troubles.delete(key)
    else this.#troubles.set(key, trouble)
    if (trouble === undefined || trouble === known) return
    this.#log.warn('object left out', { what: this.#what, name: key, error: trouble })
  }
}
