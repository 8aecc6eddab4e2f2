// SPDX-License-Identifier: Apache-2.0
import { sleep, withTimeout, type Clock } from '../core/clock.js'
import { InvalidInputError, KubeStatusError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { jitter, type Random } from '../core/random.js'
import { microTime } from '../kube/client/micro-time.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import type { ObjectBody, WriteGuard } from '../kube/client/write.js'
import { LEASES, type LeaderLease } from './lease.js'

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
  /** A name for people. A random suffix is added for each process, since two may be given the same name. */
  readonly identity: string
  /**
   * A Lease that is not seen to change for this long is free. Whole seconds, and more than `renewDeadlineMs`: the rest is for
   * a write that is under way when the leader has to stop.
   * @default 15_000
   */
  readonly leaseDurationMs?: number
  /**
   * A leader that could not renew for this long leads no more.
   * @default 10_000
   */
  readonly renewDeadlineMs?: number
  /**
   * Between two looks at the Lease, up to a fifth more.
   * @default 2_000
   */
  readonly retryMs?: number
}

/** How an election stands. */
export interface LeaderStatus {
  readonly isLeading: boolean
  /** Who holds the Lease as far as we know; '' for nobody. */
  readonly holder: string
  /** The last trouble with the Lease in words; undefined since the last success. */
  readonly trouble: string | undefined
}

/** What a leader does. It ends soon after the signal aborts: before, no other term of ours begins. */
export type Lead = (signal: AbortSignal) => Promise<void>

const DEFAULTS = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 }
/** A holder that promises to be silent for longer is not believed. */
const LONGEST_LEASE_MS = 3_600_000

/** An instant, by each clock that measures how much time has passed: some clocks stand still while a machine sleeps, others while it is paused. */
interface Instant {
  readonly now: number
  readonly boot: number
  readonly wall: number
}

const instantOf = (clock: Clock): Instant => ({
  now: clock.now(),
  boot: clock.boot(),
  wall: clock.wall(),
})

/** At least so much time has passed; a wall clock that was set forward makes it more. */
const passedSince = (from: Instant, clock: Clock): number => {
  const { now, boot, wall } = instantOf(clock)
  return Math.max(now - from.now, boot - from.boot, wall - from.wall)
}

const never = new AbortController().signal

/** What lasts while a Lease is held and renewed by nobody. */
const isSameState = (a: LeaderLease, b: LeaderLease): boolean =>
  a.holder === b.holder && a.renewTime === b.renewTime && a.transitions === b.transitions

/** A refusal of this status as undefined. */
const orUndefined = async <T>(status: number, call: Promise<T>): Promise<T | undefined> => {
  try {
    return await call
  } catch (error) {
    if (error instanceof KubeStatusError && error.status === status) return undefined
    throw error
  }
}

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
  // Two looks fit in: one that fails is no reason to go.
  if (renewDeadlineMs < 2.4 * retryMs || retryMs <= 0)
    throw new InvalidInputError('retryMs', `must be 1 to ${renewDeadlineMs / 2.4}`, retryMs)
  return options
}

/**
 * At most one of some processes leads, by a Lease. A Lease is free when it changed nothing for its duration while we looked:
 * what the holder's clock says does not count. Each write of it holds for the version that was looked at, alone.
 */
export class LeaderElection {
  readonly #seams: LeaderElectionSeams
  readonly #options: Required<LeaderElectionOptions>
  readonly #identity: string
  /** The Lease as it was last seen, and when this state of it was first seen. */
  #seen: { readonly lease: LeaderLease; readonly at: number } | undefined
  /** When the newest request was sent that made the Lease ours. */
  #renewedAt: Instant | undefined
  #trouble: string | undefined
  #retryAfterMs = 0

  constructor(seams: LeaderElectionSeams, options: LeaderElectionOptions) {
    this.#seams = seams
    this.#options = check({ ...DEFAULTS, ...options })
    const unique = seams.random.bits64().toString(16).padStart(16, '0')
    this.#identity = `${options.identity}_${unique}`
  }

  get status(): LeaderStatus {
    return {
      isLeading: this.mayWrite(),
      holder: this.#seen?.lease.holder ?? '',
      trouble: this.#trouble,
    }
  }

  /**
   * Whether the Lease is ours for sure: to be asked right before each write. False after this process stood still for too long,
   * before it has noticed by other means.
   */
  mayWrite(): boolean {
    const at = this.#renewedAt
    return at !== undefined && passedSince(at, this.#seams.clock) < this.#options.renewDeadlineMs
  }

  /** The same as a guard of writes. */
  readonly guard: WriteGuard = () => (this.mayWrite() ? undefined : 'this process does not lead')

  /**
   * Stand for election until the signal aborts, and lead whenever elected. When `lead` ends by itself, so does this. The Lease
   * is given back after `lead` has ended. Rejects with what `lead` rejects with, and nothing else.
   */
  async run(signal: AbortSignal, lead: Lead): Promise<void> {
    while (!signal.aborted) {
      const isElected = await this.#attempt(signal, inner => this.#acquire(inner))
      if (isElected && (await this.#term(signal, lead)) === 'ended') return
      await sleep(this.#seams.clock, this.#waitMs(), signal)
    }
  }

  /** Lead until `lead` ends, by itself or since the signal aborts, or until the Lease is lost. */
  async #term(signal: AbortSignal, lead: Lead): Promise<'ended' | 'lost'> {
    const { log } = this.#seams
    const facts = { lease: this.#name, identity: this.#identity }
    log.info('leads', facts)
    const term = new AbortController()
    const stop = (): void => term.abort()
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const outcome = outcomeOf(lead, term.signal).finally(stop)
    await this.#keep(term.signal)
    const isLost = !term.signal.aborted
    if (isLost) log.warn('leads no more', { ...facts, error: this.#trouble })
    stop()
    const ended = await outcome
    signal.removeEventListener('abort', stop)
    this.#renewedAt = undefined
    if (!isLost) await this.#attempt(never, inner => this.#release(inner))
    if (ended.kind === 'failed') throw ended.error
    return isLost ? 'lost' : 'ended'
  }

  /** Renew the Lease until the signal aborts, or it is not ours any more. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#seams
    while (await sleep(clock, Math.min(this.#waitMs(), Math.max(0, this.#leftMs())), signal)) {
      const isRenewed = await this.#attempt(signal, inner => this.#renew(inner))
      if (signal.aborted || this.#renewedAt === undefined) return
      if (!isRenewed && !this.mayWrite()) return
    }
  }

  /** One try to have the Lease; whether it is ours now. Trouble is reported, and counts as no. */
  async #attempt(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<boolean>,
  ): Promise<boolean> {
    const { clock } = this.#seams
    const { renewDeadlineMs, retryMs } = this.#options
    const leftMs = this.#renewedAt === undefined ? Infinity : this.#leftMs()
    // A server that is silent must not take all the time that there is for another try.
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

  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#seams
    const at = instantOf(clock)
    const lease = await this.#look(signal)
    if (lease === undefined) return this.#create(at, signal)
    if (!this.#isFree(lease)) return false
    const isAgain = lease.holder === this.#identity
    const transitions = lease.transitions + (isAgain ? 0 : 1)
    const spec = {
      ...this.#renewal(),
      acquireTime: this.#wallTime(),
      leaseTransitions: transitions,
    }
    return this.#write(lease, spec, at, signal)
  }

  /** As it is: to be seen as unchanged, it must stay so from the first look at it to the last. */
  async #look(signal: AbortSignal): Promise<LeaderLease | undefined> {
    const { client, clock, log } = this.#seams
    const lease = await orUndefined(404, client.get(LEASES, this.#options, signal))
    const known = this.#seen?.lease
    if (lease === undefined) this.#seen = undefined
    else if (known === undefined || !isSameState(known, lease))
      this.#seen = { lease, at: clock.now() }
    if (lease !== undefined && known?.holder !== lease.holder && lease.holder !== this.#identity)
      log.info('another leads', { lease: this.#name, holder: lease.holder })
    return lease
  }

  #isFree({ holder, durationMs }: LeaderLease): boolean {
    if (holder === '' || holder === this.#identity) return true
    const limitMs = Math.max(this.#options.leaseDurationMs, Math.min(durationMs, LONGEST_LEASE_MS))
    return this.#seams.clock.now() - this.#seen!.at >= limitMs
  }

  async #create(at: Instant, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = this.#options
    const spec = { ...this.#renewal(), acquireTime: this.#wallTime(), leaseTransitions: 0 }
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec }
    const call = this.#seams.client.create(LEASES, { namespace }, { body }, signal)
    return this.#won(await orUndefined(409, call), at)
  }

  async #renew(signal: AbortSignal): Promise<boolean> {
    const at = instantOf(this.#seams.clock)
    if (await this.#write(this.#seen!.lease, this.#renewal(), at, signal)) return true
    const lease = await this.#look(signal)
    if (lease?.holder === this.#identity)
      // A write of ours that was never answered, or somebody's label.
      return this.#write(lease, this.#renewal(), at, signal)
    this.#renewedAt = undefined
    return false
  }

  /** Give it back, so that the next leader need not wait. */
  async #release(signal: AbortSignal): Promise<boolean> {
    const spec = { holderIdentity: null, leaseDurationSeconds: 1, renewTime: this.#wallTime() }
    const lease = await this.#look(signal)
    if (lease?.holder === this.#identity) await this.#patch(lease, spec, signal)
    this.#seen = undefined
    return false
  }

  async #write(
    lease: LeaderLease,
    spec: ObjectBody,
    at: Instant,
    signal: AbortSignal,
  ): Promise<boolean> {
    return this.#won(await this.#patch(lease, spec, signal), at)
  }

  /** Undefined when it is another version by now, or gone. */
  #patch(
    { resourceVersion }: LeaderLease,
    spec: ObjectBody,
    signal: AbortSignal,
  ): Promise<LeaderLease | undefined> {
    const body = { metadata: { resourceVersion }, spec }
    const patch = { type: 'merge', body } as const
    const call = this.#seams.client.patch(LEASES, this.#options, { patch }, signal)
    return orUndefined(409, orUndefined(404, call))
  }

  #won(lease: LeaderLease | undefined, at: Instant): boolean {
    if (lease === undefined) return false
    this.#seen = { lease, at: this.#seams.clock.now() }
    this.#renewedAt = at
    return true
  }

  get #name(): string {
    return `${this.#options.namespace}/${this.#options.name}`
  }

  #wallTime(): string {
    return microTime(this.#seams.clock.wall())
  }

  #renewal(): ObjectBody {
    return {
      holderIdentity: this.#identity,
      leaseDurationSeconds: this.#options.leaseDurationMs / 1_000,
      renewTime: this.#wallTime(),
    }
  }

  /** Until the leader must have renewed. */
  #leftMs(): number {
    const { clock } = this.#seams
    return this.#options.renewDeadlineMs - passedSince(this.#renewedAt ?? instantOf(clock), clock)
  }

  #waitMs(): number {
    const { retryMs } = this.#options
    return Math.max(this.#retryAfterMs, jitter(this.#seams.random, retryMs * 1.1, 0.09))
  }

  #well(): void {
    if (this.#trouble !== undefined)
      this.#seams.log.info('Lease is well again', { lease: this.#name })
    this.#trouble = undefined
  }

  #failed(error: unknown): void {
    const trouble = reasonOf(error)
    if (error instanceof KubeStatusError) this.#retryAfterMs = error.retryAfterMs ?? 0
    const level = this.#trouble === undefined ? 'warn' : 'debug'
    this.#seams.log[level]('Lease trouble', { lease: this.#name, trouble })
    this.#trouble = trouble
  }
}
