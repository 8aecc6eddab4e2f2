// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import { KubeStatusError } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { microTime } from '../kube/client/micro-time.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import type { ObjectBody } from '../kube/client/write.js'
import { LEASES, type LeaderLease } from './lease.js'

interface LeaseLockSeams {
  readonly client: Pick<ResourceClient, 'get' | 'create' | 'patch'>
  readonly clock: Clock
  readonly log: Logger
}

interface LeaseLockOptions {
  readonly namespace: string
  readonly name: string
  /** Unique among all processes that compete for the Lease. */
  readonly identity: string
  /** A Lease that is not seen to change for this long is free. */
  readonly leaseDurationMs: number
}

/** A longer duration in the holder's Lease counts as this one. */
const MAX_LEASE_MS = 3_600_000

/** Whether the Lease was not renewed in between; labels and annotations do not matter. */
const isSameRenewal = (a: LeaderLease, b: LeaderLease): boolean =>
  a.holder === b.holder && a.renewTime === b.renewTime && a.transitions === b.transitions

/** Resolves with undefined where the API refuses with this HTTP status. */
const orUndefined = async <T>(status: number, call: Promise<T>): Promise<T | undefined> => {
  try {
    return await call
  } catch (error) {
    if (error instanceof KubeStatusError && error.status === status) return undefined
    throw error
  }
}

/**
 * The Lease that processes compete for, as one of them reads and writes it. A Lease is free when it did not change for its
 * duration while we watched; the times in it are by its holder's clock and do not count. Each write names the version that
 * was read and fails if the Lease has changed since. All methods reject with the API's errors.
 */
export class LeaseLock {
  readonly #seams: LeaseLockSeams
  readonly #options: LeaseLockOptions
  /** The Lease as last read or written, and when it was first seen with this renewal. */
  #seen: { readonly lease: LeaderLease; readonly at: number } | undefined

  constructor(seams: LeaseLockSeams, options: LeaseLockOptions) {
    this.#seams = seams
    this.#options = options
  }

  /** As last seen; '' for nobody. */
  get holder(): string {
    return this.#seen?.lease.holder ?? ''
  }

  /** `namespace/name`, for logs. */
  get name(): string {
    return `${this.#options.namespace}/${this.#options.name}`
  }

  /** Take the Lease if it is free. @returns whether it is ours now */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const lease = await this.#read(signal)
    if (lease === undefined) return this.#create(signal)
    if (!this.#isFree(lease)) return false
    const isOurs = lease.holder === this.#options.identity
    const leaseTransitions = lease.transitions + (isOurs ? 0 : 1)
    const spec = { ...this.#renewal(), acquireTime: this.#wallTime(), leaseTransitions }
    return this.#write(lease, spec, signal)
  }

  /**
   * Renew the Lease after `acquire` succeeded.
   * @returns `conflict`: somebody changed it at the same time, and it is still ours; `lost`: it is another's, or gone
   */
  async renew(signal: AbortSignal): Promise<'renewed' | 'conflict' | 'lost'> {
    if (await this.#write(this.#seen!.lease, this.#renewal(), signal)) return 'renewed'
    const lease = await this.#read(signal)
    if (lease?.holder !== this.#options.identity) return 'lost'
    // Our own earlier write arrived although its reply was lost, or somebody changed a label.
    return (await this.#write(lease, this.#renewal(), signal)) ? 'renewed' : 'conflict'
  }

  /** Give the Lease up if it is ours, so that the next leader need not wait. */
  async release(signal: AbortSignal): Promise<void> {
    const spec = { holderIdentity: null, leaseDurationSeconds: 1, renewTime: this.#wallTime() }
    const lease = await this.#read(signal)
    if (lease?.holder === this.#options.identity) await this.#patch(lease, spec, signal)
    this.#seen = undefined
  }

  async #read(signal: AbortSignal): Promise<LeaderLease | undefined> {
    const { client, clock, log } = this.#seams
    const { identity } = this.#options
    const lease = await orUndefined(404, client.get(LEASES, this.#options, signal))
    const known = this.#seen?.lease
    if (lease === undefined) this.#seen = undefined
    else if (known === undefined || !isSameRenewal(known, lease))
      this.#seen = { lease, at: clock.now() }
    if (lease !== undefined && known?.holder !== lease.holder && lease.holder !== identity)
      log.info('another process is leader', { lease: this.name, holder: lease.holder })
    return lease
  }

  #isFree({ holder, durationMs }: LeaderLease): boolean {
    const { identity, leaseDurationMs } = this.#options
    if (holder === '' || holder === identity) return true
    const limitMs = Math.max(leaseDurationMs, Math.min(durationMs, MAX_LEASE_MS))
    return this.#seams.clock.now() - this.#seen!.at >= limitMs
  }

  async #create(signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = this.#options
    const spec = { ...this.#renewal(), acquireTime: this.#wallTime(), leaseTransitions: 0 }
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec }
    const call = this.#seams.client.create(LEASES, { namespace }, { body }, signal)
    return this.#note(await orUndefined(409, call))
  }

  async #write(lease: LeaderLease, spec: ObjectBody, signal: AbortSignal): Promise<boolean> {
    return this.#note(await this.#patch(lease, spec, signal))
  }

  /** @returns undefined when the Lease has another version by now, or is gone */
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

  #note(written: LeaderLease | undefined): boolean {
    if (written !== undefined) this.#seen = { lease: written, at: this.#seams.clock.now() }
    return written !== undefined
  }

  #wallTime(): string {
    return microTime(this.#seams.clock.wall())
  }

  #renewal(): ObjectBody {
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: this.#options.leaseDurationMs / 1_000,
      renewTime: this.#wallTime(),
    }
  }
}
