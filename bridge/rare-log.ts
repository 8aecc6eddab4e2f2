// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import type { Fields, Logger } from '../core/log.js'

const EVERY_MS = 60_000

/** Logs each kind of warning once a minute at most, so that strangers cannot fill the log. */
export class RareLog {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #logged = new Map<string, { at: number; suppressed: number }>()

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock
    this.#log = log
  }

  /** @param what kind of warning, one of a few: it is remembered for ever */
  warn(what: string, message: string, fields: Fields): void {
    const now = this.#clock.now()
    const last = this.#logged.get(what)
    if (last !== undefined && now - last.at < EVERY_MS) {
      last.suppressed++
      return
    }
    this.#logged.set(what, { at: now, suppressed: 0 })
    const suppressed = last?.suppressed ?? 0
    this.#log.warn(message, suppressed === 0 ? fields : { ...fields, suppressed })
  }
}
