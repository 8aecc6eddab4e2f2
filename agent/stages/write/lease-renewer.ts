// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { reasonOf, WithheldError } from '../../../core/errors.js'
import type { Random } from '../../../core/random.js'
import type { ApiBackoff } from '../../api-backoff.js'
import { keepOnly } from '../../keep-only.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import {
  lengthMsOf,
  leaseStep,
  type LeaseFacts,
  type LeaseMemory,
  type LeaseStep,
} from '../../../plan/lease.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { WriteResult } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { resultOf, type WriteRecorder } from './node-writer.js'
import { RequestBackoff } from './request-backoff.js'

/** What cuts a look short, and what is asked right before a renewal leaves. */
interface Until {
  readonly signal: AbortSignal
  readonly guard: WriteGuard
}

type LeaseOptions = Pick<AgentOptions, 'vouch' | 'vouchRenewPeriodMs' | 'writerStaggerMs'>

interface Kept {
  readonly memory: LeaseMemory | undefined
  readonly dueAt: number
  /** When the last look failed; −Infinity when it did not. */
  readonly failedAt: number
  /** When its node may be given up for lack of a renewal. */
  readonly endsAt: number
  /** How long a renewal lasts. */
  readonly lengthMs: number
  /** Until when its holder's last renewal counts; undefined before the first look. */
  readonly holderUntil: number | undefined
}

/** Wait at least this share of a period after a look that failed. */
const RETRY_SHARE = 0.25
/** A Lease is looked at again when this share of its time is left, even if a refusing apiserver asks for a longer wait. */
const RESERVE_SHARE = 0.25
/** At least this share is taken to be left of a Lease that was not seen yet. */
const UNSEEN_SHARE = 0.5

interface LeaseSeams {
  readonly kube: KubeApi
  readonly clock: Clock
  readonly random: Random
  readonly record: WriteRecorder
  readonly apiBackoff: ApiBackoff
  /** Receives what was written to each node's Lease. */
  readonly renewals: ResultStore['renewals']
}

/** For a Lease that nobody has looked at yet: due at once. */
const unseenAt = (now: number): Kept => {
  const lengthMs = lengthMsOf({ leaseDurationSeconds: undefined })
  return {
    ...{ memory: undefined, holderUntil: undefined, lengthMs },
    ...{ dueAt: -Infinity, failedAt: -Infinity, endsAt: now + lengthMs * UNSEEN_SHARE },
  }
}

/** Waits as long as the apiserver asks for, but looks once before the Lease ends, and then once per duration. */
const nextLookAt = ({ dueAt, endsAt, failedAt, lengthMs }: Kept, readyAt: number): number => {
  const reserveAt = endsAt - lengthMs * RESERVE_SHARE
  const latestAt = failedAt < reserveAt ? reserveAt : failedAt + lengthMs
  return Math.max(dueAt, Math.min(readyAt, latestAt))
}

/** What is kept of a Lease as it was read, before anything is written to it. */
const afterLook = (lease: LeaseFacts, { memory, dueAt, holderUntil }: LeaseStep): Kept => {
  const lengthMs = lengthMsOf(lease)
  const endsAt = memory.changedAt + lengthMs
  return { memory, dueAt, holderUntil, lengthMs, endsAt, failedAt: -Infinity }
}

/** Renews the Leases of nodes that the zone vouches for. */
export class LeaseRenewer {
  readonly #options: LeaseOptions
  readonly #seams: LeaseSeams
  readonly #backoff: RequestBackoff
  readonly #kept = new Map<string, Kept>()

  constructor(options: LeaseOptions, seams: LeaseSeams) {
    this.#options = options
    this.#seams = seams
    this.#backoff = new RequestBackoff(seams)
  }

  /**
   * When the Lease of a node that is vouched for has to be looked at next: the first time at once, unless the apiserver is
   * to be left alone.
   */
  dueAt(node: string): number {
    return nextLookAt(this.#keptOf(node), this.#backoff.readyAt(node))
  }

  /** Look at the node's Lease now, and renew it if it is our turn and the guard lets it pass. Never rejects. */
  async look(node: string, rank: number, until: Until): Promise<void> {
    this.#backoff.left()
    try {
      this.#kept.set(node, await this.#renew(node, rank, until))
      this.#backoff.succeeded(node)
    } catch (error) {
      if (!until.signal.aborted) this.#failed(node, error)
    }
  }

  /** Whether the node's own kubelet renews it, whatever the node says of its link; undefined before the first look. */
  isHeld(node: string): boolean | undefined {
    const until = this.#kept.get(node)?.holderUntil
    return until === undefined ? undefined : until !== -Infinity
  }

  /** Nobody vouches for it any more. */
  forget(node: string): void {
    this.#kept.delete(node)
  }

  /** The apiserver is out of reach: what it refused before does not matter when it is back. */
  linkLost(): void {
    this.#backoff.linkLost()
  }

  /** This agent was suspended: what it saw of Leases no longer counts. */
  forgetAll(): void {
    this.#kept.clear()
  }

  /** Forget nodes that left the zone. */
  keepOnly(isKept: (node: string) => boolean): void {
    const { renewals } = this.#seams
    this.#backoff.keepOnly(isKept)
    keepOnly(this.#kept, isKept)
    renewals.set(new Map([...renewals.current].filter(([node]) => isKept(node))))
  }

  async #renew(node: string, rank: number, { signal, guard }: Until): Promise<Kept> {
    const { kube, clock } = this.#seams
    const { vouch, vouchRenewPeriodMs, writerStaggerMs } = this.#options
    const lease = await kube.getLease(node, signal)
    const step = leaseStep(this.#kept.get(node)?.memory, lease, {
      ...{ now: clock.now(), serverTime: kube.serverTime(), rank },
      ...{ renewEveryMs: vouchRenewPeriodMs, writerStaggerMs },
    })
    const seen = afterLook(lease, step)
    if (vouch !== 'lease')
      return { ...seen, dueAt: clock.now() + vouchRenewPeriodMs, endsAt: Infinity }
    if (step.trouble !== '') this.#report(node, 'withheld', step.trouble)
    if (step.write === undefined) return seen
    this.#kept.set(node, seen)
    await kube.patchLease(node, step.write.patch, signal, guard)
    const memory = step.write.whenDone
    this.#renewed(node, memory)
    return { ...seen, memory, endsAt: clock.now() + seen.lengthMs }
  }

  #renewed(node: string, { renewTime = '' }: LeaseMemory): void {
    const { renewals } = this.#seams
    // Outlives the vouching: nobody may take our renewal for the node's own sign of life.
    renewals.set(new Map(renewals.current).set(node, renewTime))
    this.#report(node, 'done', '')
  }

  #failed(node: string, error: unknown): void {
    const now = this.#seams.clock.now()
    if (!(error instanceof WithheldError)) this.#backoff.failed(error, node)
    this.#kept.set(node, {
      ...this.#keptOf(node),
      failedAt: now,
      dueAt: now + this.#options.vouchRenewPeriodMs * RETRY_SHARE,
    })
    this.#report(node, resultOf(error), reasonOf(error))
  }

  /** What is kept of the node's Lease; from now on, where nothing was. */
  #keptOf(node: string): Kept {
    const kept = this.#kept.get(node) ?? unseenAt(this.#seams.clock.now())
    this.#kept.set(node, kept)
    return kept
  }

  #report(node: string, result: WriteResult, trouble: string): void {
    this.#seams.record({
      node,
      kind: 'lease',
      what: 'renew the Lease in its place',
      result,
      trouble,
    })
  }
}
