// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from './errors.js'
import type { Logger } from './log.js'

/** A bug that ended a program's work: a process that does nothing must not look healthy. */
export class Failure {
  readonly #log: Logger
  #reject!: (error: unknown) => void
  /** Rejects with the first bug; never resolves. */
  readonly promise = new Promise<never>((_resolve, reject) => (this.#reject = reject))

  constructor(log: Logger) {
    this.#log = log
    // Keeps an early failure from being an unhandled rejection.
    this.promise.catch(() => undefined)
  }

  /** Resolves when the work has ended, whether by a bug or not. @param what does the work, for the log */
  async watch(what: string, work: Promise<unknown>): Promise<void> {
    try {
      await work
    } catch (error) {
      this.#log.error(`bug: ${what} ended`, { error: reasonOf(error) })
      this.#reject(error)
    }
  }
}
