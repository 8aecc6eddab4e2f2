// SPDX-License-Identifier: Apache-2.0
import type { Clock } from './clock.js'
import type { Fields, Logger } from './log.js'

const EVERY_MS = 60_000
/** Kinds that are remembered. If strangers make more of them in a minute, some are logged more often. */
const MAX_KINDS = 20_000

/** Logs each kind of message once a minute at most, so that others cannot fill the log. */
export class RareLog {
  readonly #clock: Clock
  readonly #log: Logger
  /** Those logged last at the end. */
  readonly #logged = new Map<string, { readonly at: number; suppressed: number }>()

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock
    this.#log = log
  }

  /** @param what kind of error */
  error(what: string, message: string, fields: Fields): void {
    const all = this.#due(what, fields)
    if (all !== undefined) this.#log.error(message, all)
  }

  /** @param what kind of warning */
  warn(what: string, message: string, fields: Fields): void {
    const all = this.#due(what, fields)
    if (all !== undefined) this.#log.warn(message, all)
  }

  /** @param what kind of message */
  info(what: string, message: string, fields: Fields): void {
    const all = this.#due(what, fields)
    if (all !== undefined) this.#log.info(message, all)
  }

  /** @returns what to log; undefined when the kind was logged a short time ago */
  #due(what: string, fields: Fields): Fields | undefined {
    const now = this.#clock.now()
    const last = this.#logged.get(what)
    if (last !== undefined && now - last.at < EVERY_MS) {
      last.suppressed++
      return undefined
    }
    this.#logged.delete(what)
    this.#logged.set(what, { at: now, suppressed: 0 })
    if (this.#logged.size > MAX_KINDS) this.#forgetOldest()
    const suppressed = last?.suppressed ?? 0
    return suppressed === 0 ? fields : { ...fields, suppressed }
  }

  #forgetOldest(): void {
    this.#logged.delete(this.#logged.keys().next().value!)
  }
}

/** The same logger, which logs each kind of bug once a minute: what others send may lead to one again and again. */
export const limitBugs = (log: Logger, clock: Clock): Logger => {
  const rare = new RareLog(clock, log)
  return {
    ...log,
    error(message, fields = {}) {
      if (message.startsWith('bug: ')) rare.error(message, message, fields)
      else log.error(message, fields)
    },
  }
}
