// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { FeedStatus } from './feed.js'

interface FreshnessOptions {
  /** URL of the agent, for the log. */
  readonly address: string
  /** How long the last report is used after the agent fell silent. */
  readonly limitMs: number
}

interface FreshnessSeams {
  readonly clock: Clock
  readonly log: Logger
  /** The last report is too old from now on. */
  readonly onExpired: () => void
}

/** Whether the agent's last report still counts, and what is wrong with the agent. */
export class Freshness {
  readonly #options: FreshnessOptions
  readonly #seams: FreshnessSeams
  #heardAt: number | undefined
  #isExpired = false
  #cancelExpiry: () => void = () => undefined
  #source: FeedStatus['source'] = 'none'
  #trouble: string | undefined

  constructor(options: FreshnessOptions, seams: FreshnessSeams) {
    this.#options = options
    this.#seams = seams
  }

  get isFresh(): boolean {
    return this.#heardAt !== undefined && !this.#isExpired
  }

  /** How the agent reported last. */
  get source(): FeedStatus['source'] {
    return this.#source
  }

  get status(): Pick<FeedStatus, 'ageMs' | 'source' | 'state' | 'trouble'> {
    const heardAt = this.#heardAt
    return {
      state: this.#state(),
      source: this.#source,
      ageMs: heardAt === undefined ? undefined : this.#seams.clock.now() - heardAt,
      trouble: this.#trouble,
    }
  }

  /** The agent reported, or showed that its last report is still true. */
  heard(source: 'push' | 'poll'): void {
    const { clock, log, onExpired } = this.#seams
    const { address, limitMs } = this.#options
    if (this.#trouble !== undefined || this.#source !== source)
      log.info('health comes from the agent', { source, address })
    this.#heardAt = clock.now()
    this.#source = source
    this.#trouble = undefined
    this.#isExpired = false
    this.#cancelExpiry()
    this.#cancelExpiry = clock.after(limitMs, () => {
      this.#isExpired = true
      onExpired()
    })
  }

  /** The agent did not report. */
  complain(trouble: string): void {
    const { address } = this.#options
    if (this.#trouble === undefined)
      this.#seams.log.warn('no health from the agent', { error: trouble, address })
    this.#trouble = trouble
  }

  stop(): void {
    this.#cancelExpiry()
  }

  #state(): FeedStatus['state'] {
    if (this.#heardAt === undefined) return 'waiting'
    if (this.#isExpired) return 'expired'
    return this.#trouble === undefined ? 'fresh' : 'last-known'
  }
}
