// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { reasonOf, WithheldError } from '../../../core/errors.js'
import type { Random } from '../../../core/random.js'
import type { ApiBackoff } from '../../api-backoff.js'
import { keepOnly } from '../../keep-only.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import { lengthMsOf, leaseStep, type LeaseMemory } from '../../../plan/lease.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { WriteResult } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { resultOf, type WriteRecorder } from './node-writer.js'
import { RequestBackoff } from './request-backoff.js'

/** Renews the Leases of nodes that the zone vouches for. */
export interface LeaseRenewer {
  /**
   * When the Lease of a node that is vouched for has to be looked at next: the first time at once, unless the apiserver is
   * to be left alone.
   */
  dueAt(node: string): number
  /** Look at the node's Lease now, and renew it if it is our turn and the guard lets it pass. Never rejects. */
  look(node: string, rank: number, until: Until): Promise<void>
  /** Whether the node's own kubelet renews it, whatever the node says of its link; undefined before the first look. */
  isHeld(node: string): boolean | undefined
  /** Nobody vouches for it any more. */
  forget(node: string): void
  /** The apiserver is out of reach: what it refused before does not matter when it is back. */
  linkLost(): void
  /** This agent was suspended: what it saw of Leases counts no more. */
  forgetAll(): void
  /** Forget who left the zone. */
  keepOnly(isKept: (node: string) => boolean): void
}

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
  /** When its node may be given up for want of a renewal. */
  readonly endsAt: number
  /** How long a renewal lasts. */
  readonly lengthMs: number
  /** Until when its holder's last renewal counts; undefined before the first look. */
  readonly holderUntil: number | undefined
}

/** Wait this share of a period at least after a look that failed. */
const RETRY_SHARE = 0.25
/** What is left of a Lease's time when it is looked at again, whatever an apiserver that refuses asks for. */
const RESERVE_SHARE = 0.25
/** What is left of one that was not seen yet, at least. */
const UNSEEN_SHARE = 0.5

export const makeLeaseRenewer = (
  options: LeaseOptions,
  seams: {
    readonly kube: KubeApi
    readonly clock: Clock
    readonly random: Random
    readonly record: WriteRecorder
    readonly apiBackoff: ApiBackoff
    /** Receives what was written to each node's Lease. */
    readonly renewals: ResultStore['renewals']
  },
): LeaseRenewer => {
  const { kube, clock, record, renewals } = seams
  const backoff = new RequestBackoff(seams)
  const kept = new Map<string, Kept>()

  const report = (node: string, result: WriteResult, trouble: string): void =>
    record({ node, kind: 'lease', what: 'renew the Lease in its place', result, trouble })

  const renew = async (node: string, rank: number, { signal, guard }: Until): Promise<Kept> => {
    const lease = await kube.getLease(node, signal)
    const step = leaseStep(kept.get(node)?.memory, lease, {
      now: clock.now(),
      serverTime: kube.serverTime(),
      rank,
      renewEveryMs: options.vouchRenewPeriodMs,
      writerStaggerMs: options.writerStaggerMs,
    })
    const { memory, dueAt, holderUntil } = step
    const lengthMs = lengthMsOf(lease)
    const endsAt = memory.changedAt + lengthMs
    const seen = { memory, dueAt, holderUntil, lengthMs, endsAt, failedAt: -Infinity }
    if (options.vouch !== 'lease')
      return { ...seen, dueAt: clock.now() + options.vouchRenewPeriodMs, endsAt: Infinity }
    if (step.trouble !== '') report(node, 'withheld', step.trouble)
    if (step.write === undefined) return seen
    kept.set(node, seen)
    await kube.patchLease(node, step.write.patch, signal, guard)
    // Outlives the vouching: nobody may take our renewal for the node's own sign of life.
    const renewTime = step.write.whenDone.renewTime ?? ''
    renewals.set(new Map(renewals.current).set(node, renewTime))
    report(node, 'done', '')
    return { ...seen, memory: step.write.whenDone, endsAt: clock.now() + lengthMs }
  }

  /** What is kept of the node's Lease; from now on, where nothing was. */
  const keptOf = (node: string): Kept => {
    const known = kept.get(node)
    if (known !== undefined) return known
    const lengthMs = lengthMsOf({ leaseDurationSeconds: undefined })
    const unseen = { memory: undefined, holderUntil: undefined, lengthMs }
    const never = { dueAt: -Infinity, failedAt: -Infinity }
    const next = { ...unseen, ...never, endsAt: clock.now() + lengthMs * UNSEEN_SHARE }
    kept.set(node, next)
    return next
  }

  const failed = (node: string, error: unknown): void => {
    const now = clock.now()
    if (!(error instanceof WithheldError)) backoff.failed(error, node)
    kept.set(node, {
      ...keptOf(node),
      failedAt: now,
      dueAt: now + options.vouchRenewPeriodMs * RETRY_SHARE,
    })
    report(node, resultOf(error), reasonOf(error))
  }

  /** Waits as long as the apiserver asks for, but looks once before the Lease ends, and then once per duration. */
  const dueAtOf = (node: string, { dueAt, endsAt, failedAt, lengthMs }: Kept): number => {
    const reserveAt = endsAt - lengthMs * RESERVE_SHARE
    const latestAt = failedAt < reserveAt ? reserveAt : failedAt + lengthMs
    return Math.max(dueAt, Math.min(backoff.readyAt(node), latestAt))
  }

  return {
    dueAt: node => dueAtOf(node, keptOf(node)),
    look: async (node, rank, until) => {
      backoff.left()
      try {
        kept.set(node, await renew(node, rank, until))
        backoff.succeeded(node)
      } catch (error) {
        if (!until.signal.aborted) failed(node, error)
      }
    },
    isHeld: node => {
      const until = kept.get(node)?.holderUntil
      return until === undefined ? undefined : until !== -Infinity
    },
    forget: node => kept.delete(node),
    linkLost: () => backoff.linkLost(),
    forgetAll: () => kept.clear(),
    keepOnly: isKept => {
      backoff.keepOnly(isKept)
      keepOnly(kept, isKept)
      renewals.set(new Map([...renewals.current].filter(([node]) => isKept(node))))
    },
  }
}
