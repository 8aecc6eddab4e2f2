// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import type { Fields, Logger } from '../core/log.js'

const EVERY_MS = 60_000

/** Warns of the same trouble once a minute, however often it comes: what strangers cause must not fill the log. */
export class RareLog {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #told = new Map<string, { at: number; untold: number }>()

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock
    this.#log = log
  }

  /** @param what One of a few: it is kept for ever. */
  warn(what: string, message: string, fields: Fields): void {
    const now = this.#clock.now()
    const told = this.#told.get(what)
    if (told !== undefined && now - told.at < EVERY_MS) {
      told.untold++
      return
    }
    this.#told.set(what, { at: now, untold: 0 })
    const untold = told?.untold ?? 0
    this.#log.warn(message, untold === 0 ? fields : { ...fields, untold })
  }
}
