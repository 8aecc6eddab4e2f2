// SPDX-License-Identifier: Apache-2.0
import type { Patch } from './patch.js'

/** What a renewal needs to know of a Lease. */
export interface LeaseFacts {
  readonly resourceVersion: string
  readonly renewTime: string | undefined
  readonly leaseDurationSeconds: number | undefined
  /** Who wrote `renewTime` last, and when by the apiserver's clock; undefined when that is not known. */
  readonly renewal: { readonly isByAgent: boolean; readonly at: number } | undefined
}

/** What is remembered of a vouched node's Lease between looks. */
export interface LeaseMemory {
  readonly renewTime: string | undefined
  /** When that renewal was first seen here. */
  readonly changedAt: number
  /** True until the Lease has moved, by us or by anybody. */
  readonly isFirst: boolean
}

/** What decides whether this agent renews the Lease now. */
export interface LeaseTurn {
  readonly now: number
  /** The apiserver's clock, or a little less, in epoch ms; undefined before it has said what time it is. */
  readonly serverTime: number | undefined
  /** The own rank among the writers for this node. */
  readonly rank: number
  readonly renewEveryMs: number
  readonly writerStaggerMs: number
}

/** What to do about one Lease now. */
export interface LeaseStep {
  /** What to remember, whatever the outcome of the write. */
  readonly memory: LeaseMemory
  /** The renewal to send, and what to remember instead once it is done; undefined when there is none. */
  readonly write: { readonly patch: Patch; readonly whenDone: LeaseMemory } | undefined
  /** Until when, by `Clock.now`, its holder's last renewal shows that its link works; −Infinity when it does not. */
  readonly holderUntil: number
  /** Why nothing is written although a renewal is due; empty otherwise. */
  readonly trouble: string
  /** When to look again. */
  readonly dueAt: number
}

const microTime = (epochMs: number): string => new Date(epochMs).toISOString().replace('Z', '000Z')

const DEFAULT_LEASE_SECONDS = 40
/** Kubelets renew after each quarter of a Lease's duration; after one and a half quarters a renewal is missing. */
const RENEWING_SHARE = 0.375

/** For how long one renewal of the Lease counts. */
export const lengthMsOf = ({
  leaseDurationSeconds,
}: Pick<LeaseFacts, 'leaseDurationSeconds'>): number =>
  (leaseDurationSeconds ?? DEFAULT_LEASE_SECONDS) * 1_000

/** Until when, by `Clock.now`, the holder's last renewal counts. Its age is the difference of two times of the apiserver. */
const holderUntil = (lease: LeaseFacts, { now, serverTime }: LeaseTurn): number => {
  const { renewal } = lease
  if (renewal === undefined || renewal.isByAgent || serverTime === undefined) return -Infinity
  const lengthMs = lengthMsOf(lease) * RENEWING_SHARE
  const until = now + Math.min(lengthMs, renewal.at + lengthMs - serverTime)
  return until > now ? until : -Infinity
}

/** The next `renewTime` in epoch ms, or why there is none. */
type Renewal = { readonly at: number } | { readonly waitMs: number; readonly trouble: string }

/**
 * The control plane remembers the latest time that it saw and takes a Lease as renewed only if it shows a later one. So
 * a renewal is the Lease's own time plus what has passed since: it follows the node's own clock, right or wrong, and the
 * node's next renewal is later than ours. It is never ahead of the apiserver's clock, or the next renewals of a node whose
 * clock is right would not count. A date that cannot be read counts as none.
 */
const renewalOf = (seen: LeaseMemory, { now, serverTime, renewEveryMs }: LeaseTurn): Renewal => {
  if (serverTime === undefined)
    return { waitMs: renewEveryMs, trouble: 'the apiserver does not say what time it is' }
  const last = seen.renewTime === undefined ? NaN : Date.parse(seen.renewTime)
  if (Number.isNaN(last)) return { at: serverTime }
  const at = Math.floor(Math.min(last + Math.max(1, now - seen.changedAt), serverTime))
  if (at > last) return { at }
  const waitMs = last + 1 - serverTime
  const trouble = `its time lies ${Math.ceil(waitMs / 1000)} s beyond the apiserver's clock`
  return { waitMs: Math.min(Math.ceil(waitMs), renewEveryMs), trouble }
}

/**
 * Renew a vouched node's Lease if nobody has: neither its holder, whose link would then be back, nor a writer of a better
 * rank. After any renewal this agent waits for a whole period and the wait of its rank. The first time, the writer of rank
 * 0 renews at once. The resourceVersion guards against a renewal in between.
 */
export const leaseStep = (
  memory: LeaseMemory | undefined,
  lease: LeaseFacts,
  turn: LeaseTurn,
): LeaseStep => {
  const { now, rank } = turn
  const { renewTime } = lease
  const seen: LeaseMemory =
    memory?.renewTime === renewTime && memory !== undefined
      ? memory
      : { renewTime, changedAt: now, isFirst: memory === undefined }
  const wait = (seen.isFirst ? 0 : turn.renewEveryMs) + rank * turn.writerStaggerMs
  const held = holderUntil(lease, turn)
  const nothing = { memory: seen, write: undefined, trouble: '', holderUntil: held }
  // The node reports that its link is cut, and yet renews.
  if (held > now) return { ...nothing, dueAt: held }
  if (now < seen.changedAt + wait) return { ...nothing, dueAt: seen.changedAt + wait }
  const renewal = renewalOf(seen, turn)
  if (!('at' in renewal)) {
    const { waitMs, trouble } = renewal
    return { ...nothing, trouble, dueAt: now + waitMs }
  }
  const renewed = microTime(renewal.at)
  const body = {
    metadata: { resourceVersion: lease.resourceVersion },
    spec: { renewTime: renewed },
  }
  return {
    ...nothing,
    write: {
      patch: { type: 'merge', body },
      whenDone: { renewTime: renewed, changedAt: now, isFirst: false },
    },
    dueAt: now + turn.renewEveryMs + rank * turn.writerStaggerMs,
  }
}
