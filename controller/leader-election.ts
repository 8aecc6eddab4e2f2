// SPDX-License-Identifier: Apache-2.0
import { sleep, withTimeout, type Clock } from '../core/clock.js'
import { InvalidInputError, KubeStatusError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { jitter, type Random } from '../core/random.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import type { WriteGuard } from '../kube/client/write.js'
import { elapsedMs, instantOf, type Instant } from './instant.js'
import { LeaseLock } from './lease-lock.js'

/** What an election needs of the world. */
export interface LeaderElectionSeams {
  readonly client: Pick<ResourceClient, 'get' | 'create' | 'patch'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Which Lease, who we are, and how long things take. */
export interface LeaderElectionOptions {
  readonly namespace: string
  /** Of the Lease. */
  readonly name: string
  /** Shown to people as the holder. A random suffix makes it unique, since two processes may be given the same name. */
  readonly identity: string
  /**
   * A Lease that is not seen to change for this long is free. Whole seconds, and more than `renewDeadlineMs`: the rest is for
   * a write that is under way when the leader has to stop.
   * @default 15_000
   */
  readonly leaseDurationMs?: number
  /**
   * A leader that has not renewed the Lease for this long stops leading.
   * @default 10_000
   */
  readonly renewDeadlineMs?: number
  /**
   * Time between two requests about the Lease; up to a fifth is added at random.
   * @default 2_000
   */
  readonly retryMs?: number
}

/** For status and metrics. */
export interface LeaderStatus {
  readonly isLeading: boolean
  /** As last seen; '' for nobody. */
  readonly holder: string
  /** Why the last request about the Lease failed; undefined after one that succeeded. */
  readonly trouble: string | undefined
}

/** What a leader does. It must end soon after the signal aborts: this process starts no other term before that. */
export type Lead = (signal: AbortSignal) => Promise<void>

const DEFAULTS = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 }

const never = new AbortController().signal

type Outcome = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly error: Error }

/** How a leader's work ended; never rejects. */
const outcomeOf = async (lead: Lead, signal: AbortSignal): Promise<Outcome> => {
  try {
    await lead(signal)
    return { kind: 'done' }
  } catch (error) {
    return { kind: 'failed', error: error as Error }
  }
}

const check = (options: Required<LeaderElectionOptions>): Required<LeaderElectionOptions> => {
  const { leaseDurationMs, renewDeadlineMs, retryMs } = options
  if (leaseDurationMs % 1_000 !== 0)
    throw new InvalidInputError('leaseDurationMs', 'must be whole seconds', leaseDurationMs)
  if (leaseDurationMs <= renewDeadlineMs)
    throw new InvalidInputError(
      'leaseDurationMs',
      `must be more than ${renewDeadlineMs}`,
      leaseDurationMs,
    )
  // The deadline has room for two tries, so that a leader outlives one that fails.
  if (renewDeadlineMs < 2.4 * retryMs || retryMs <= 0)
    throw new InvalidInputError('retryMs', `must be 1 to ${renewDeadlineMs / 2.4}`, retryMs)
  return options
}

/**
 * Leader election by a Lease: of all processes that run it, at most one leads. When to try, how long a renewal counts and
 * when to stop is decided here; the Lease itself is read and written by `LeaseLock`.
 */
export class LeaderElection {
  readonly #seams: LeaderElectionSeams
  readonly #options: Required<LeaderElectionOptions>
  readonly #identity: string
  readonly #lock: LeaseLock
  /** When the last successful request to take or renew the Lease was sent. */
  #renewedAt: Instant | undefined
  #trouble: string | undefined
  #retryAfterMs = 0

  constructor(seams: LeaderElectionSeams, options: LeaderElectionOptions) {
    this.#seams = seams
    this.#options = check({ ...DEFAULTS, ...options })
    const unique = seams.random.bits64().toString(16).padStart(16, '0')
    this.#identity = `${options.identity}_${unique}`
    const { namespace, name, leaseDurationMs } = this.#options
    this.#lock = new LeaseLock(seams, {
      ...{ namespace, name, leaseDurationMs },
      identity: this.#identity,
    })
  }

  get status(): LeaderStatus {
    return {
      isLeading: this.mayWrite(),
      holder: this.#lock.holder,
      trouble: this.#trouble,
    }
  }

  /**
   * Whether this process certainly holds the Lease; ask right before each write. False at once after the process or its
   * machine was suspended for longer than `renewDeadlineMs`.
   */
  mayWrite(): boolean {
    const at = this.#renewedAt
    return at !== undefined && elapsedMs(at, this.#seams.clock) < this.#options.renewDeadlineMs
  }

  /** `mayWrite` as a guard of writes. */
  readonly guard: WriteGuard = () => (this.mayWrite() ? undefined : 'this process does not lead')

  /**
   * Stand for election until the signal aborts, and call `lead` whenever elected. Resolves when `lead` ends by itself. The
   * Lease is released after `lead` has ended. Rejects only with what `lead` rejects with.
   */
  async run(signal: AbortSignal, lead: Lead): Promise<void> {
    while (!signal.aborted) {
      const isElected = await this.#attempt(signal, inner => this.#acquire(inner))
      if (isElected && (await this.#term(signal, lead)) === 'ended') return
      await sleep(this.#seams.clock, this.#waitMs(), signal)
    }
  }

  /** Run `lead` until it ends or the Lease is lost. */
  async #term(signal: AbortSignal, lead: Lead): Promise<'ended' | 'lost'> {
    const { log } = this.#seams
    const facts = { lease: this.#lock.name, identity: this.#identity }
    log.info('became leader', facts)
    const term = new AbortController()
    const stop = (): void => term.abort()
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const outcome = outcomeOf(lead, term.signal).finally(stop)
    await this.#keep(term.signal)
    const isLost = !term.signal.aborted
    if (isLost) log.warn('lost leadership', { ...facts, error: this.#trouble })
    stop()
    const ended = await outcome
    signal.removeEventListener('abort', stop)
    this.#renewedAt = undefined
    if (!isLost) await this.#attempt(never, inner => this.#release(inner))
    if (ended.kind === 'failed') throw ended.error
    return isLost ? 'lost' : 'ended'
  }

  /** Renew the Lease until the signal aborts or the Lease is lost. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#seams
    while (await sleep(clock, Math.min(this.#waitMs(), Math.max(0, this.#leftMs())), signal)) {
      const isRenewed = await this.#attempt(signal, inner => this.#renew(inner))
      if (signal.aborted || this.#renewedAt === undefined) return
      if (!isRenewed && !this.mayWrite()) return
    }
  }

  /** One try to get or keep the Lease, with a time limit. @returns whether it is ours; an error is logged and counts as no */
  async #attempt(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<boolean>,
  ): Promise<boolean> {
    const { clock } = this.#seams
    const { renewDeadlineMs, retryMs } = this.#options
    const leftMs = this.#renewedAt === undefined ? Infinity : this.#leftMs()
    // Leaves time for another try when the server does not answer.
    const limitMs = Math.min(renewDeadlineMs / 2, Math.max(retryMs, leftMs))
    this.#retryAfterMs = 0
    try {
      const isOurs = await withTimeout(clock, limitMs, signal, work)
      this.#well()
      return isOurs
    } catch (error) {
      if (!signal.aborted) this.#failed(error)
      return false
    }
  }

  /** The time starts before the request is sent, so it ends before the other processes may take the Lease. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const at = instantOf(this.#seams.clock)
    const isOurs = await this.#lock.acquire(signal)
    if (isOurs) this.#renewedAt = at
    return isOurs
  }

  async #renew(signal: AbortSignal): Promise<boolean> {
    const at = instantOf(this.#seams.clock)
    const outcome = await this.#lock.renew(signal)
    if (outcome === 'renewed') this.#renewedAt = at
    if (outcome === 'lost') this.#renewedAt = undefined
    return outcome === 'renewed'
  }

  async #release(signal: AbortSignal): Promise<boolean> {
    await this.#lock.release(signal)
    return false
  }

  /** Time left until the renewal deadline. */
  #leftMs(): number {
    const { clock } = this.#seams
    return this.#options.renewDeadlineMs - elapsedMs(this.#renewedAt ?? instantOf(clock), clock)
  }

  #waitMs(): number {
    const { retryMs } = this.#options
    return Math.max(this.#retryAfterMs, jitter(this.#seams.random, retryMs * 1.1, 0.09))
  }

  #well(): void {
    if (this.#trouble !== undefined)
      this.#seams.log.info('Lease requests succeed again', { lease: this.#lock.name })
    this.#trouble = undefined
  }

  #failed(error: unknown): void {
    const trouble = reasonOf(error)
    if (error instanceof KubeStatusError) this.#retryAfterMs = error.retryAfterMs ?? 0
    const level = this.#trouble === undefined ? 'warn' : 'debug'
    this.#seams.log[level]('Lease request failed', { lease: this.#lock.name, trouble })
    this.#trouble = trouble
  }
}
