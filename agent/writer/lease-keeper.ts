// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { KubeApi, WriteGuard } from '../../kube/api.js'
import { leaseStep, type LeaseMemory } from '../../vote/lease.js'
import type { AgentOptions } from '../options/agent-options.js'
import type { WriteResult } from '../store.js'
import { resultOf, type Record } from './node-writer.js'

/** Renews the Leases of nodes that the zone vouches for. */
export interface LeaseKeeper {
  /** When the node's Lease has to be looked at next; −Infinity for one that was not looked at yet. */
  dueAt(node: string): number
  /** Look at the node's Lease now, and renew it if it is our turn and the guard lets it pass. Never rejects. */
  look(node: string, rank: number, until: Until): Promise<void>
  /** Whether the node's own kubelet renews it, whatever the node says of its link; undefined before the first look. */
  isHeld(node: string): boolean | undefined
  /** Nobody vouches for it any more. */
  forget(node: string): void
  /** What was seen of all Leases is from before a suspension. */
  forgetAll(): void
  /** Whether we wrote this renewal in the node's place. */
  isOurs(node: string, renewTime: string): boolean
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
  /** Until when its holder's last renewal counts; undefined before the first look. */
  readonly holderUntil: number | undefined
}

/** Wait this share of a period after a look that failed. */
const RETRY_SHARE = 0.25

export const makeLeaseKeeper = (
  options: LeaseOptions,
  seams: { readonly kube: KubeApi; readonly clock: Clock; readonly record: Record },
): LeaseKeeper => {
  const { kube, clock, record } = seams
  const kept = new Map<string, Kept>()
  /** Outlives the vouching: the witness must not take our renewal for the node's own sign of life. */
  const ours = new Map<string, string>()

  const tell = (node: string, result: WriteResult, trouble: string): void =>
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
    if (options.vouch !== 'lease')
      return { memory, dueAt: clock.now() + options.vouchRenewPeriodMs, holderUntil }
    if (step.trouble !== '') tell(node, 'withheld', step.trouble)
    if (step.write === undefined) return { memory, dueAt, holderUntil }
    await kube.patchLease(node, step.write.patch, signal, guard)
    ours.set(node, step.write.whenDone.renewTime ?? '')
    tell(node, 'done', '')
    return { memory: step.write.whenDone, dueAt, holderUntil }
  }
  return {
    dueAt: node => kept.get(node)?.dueAt ?? -Infinity,
    look: async (node, rank, until) => {
      try {
        kept.set(node, await renew(node, rank, until))
      } catch (error) {
        const again = clock.now() + options.vouchRenewPeriodMs * RETRY_SHARE
        const { memory, holderUntil } = kept.get(node) ?? {
          memory: undefined,
          holderUntil: undefined,
        }
        kept.set(node, { memory, dueAt: again, holderUntil })
        tell(node, resultOf(error), reasonOf(error))
      }
    },
    isHeld: node => {
      const until = kept.get(node)?.holderUntil
      return until === undefined ? undefined : until !== -Infinity
    },
    forget: node => kept.delete(node),
    forgetAll: () => kept.clear(),
    isOurs: (node, renewTime) => ours.get(node) === renewTime,
    keepOnly: isKept => {
      for (const map of [kept, ours])
        for (const node of map.keys()) if (!isKept(node)) map.delete(node)
    },
  }
}
