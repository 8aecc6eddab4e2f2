// SPDX-License-Identifier: Apache-2.0
import type { Patch } from './patch.js'

/** What a renewal needs of a Lease; `kube/api.ts` reads it. */
export interface LeaseFacts {
  readonly resourceVersion: string
  readonly renewTime: string | undefined
}

/** What is remembered of a vouched node's Lease between looks. */
export interface LeaseMemory {
  readonly renewTime: string | undefined
  /** When that renewal was first seen here. */
  readonly changedAt: number
  /** True until the Lease has moved, by us or by anybody. */
  readonly isFirst: boolean
}

/** Whose turn it is, and when. */
export interface LeaseTurn {
  readonly now: number
  /** Epoch ms of the own wall clock: the Lease carries wall time. */
  readonly wall: number
  /** The own rank among the writers for this node. */
  readonly rank: number
  readonly renewEveryMs: number
  readonly writerStaggerMs: number
}

/** What to do about one Lease now. */
export interface LeaseStep {
  /** What to remember, whatever becomes of the write. */
  readonly memory: LeaseMemory
  /** The renewal to send, and what to remember instead once it is done; undefined when it is not time. */
  readonly write: { readonly patch: Patch; readonly whenDone: LeaseMemory } | undefined
  /** When to look again. */
  readonly dueAt: number
}

const microTime = (epochMs: number): string => new Date(epochMs).toISOString().replace('Z', '000Z')

/**
 * The control plane takes a Lease as renewed only if its time grows, and the node's own clock may be ahead of ours:
 * so always a little later than what stands there. A date beyond what can be written, or none, is taken as no date.
 */
const renewTimeAfter = (last: string | undefined, wall: number): string => {
  const lastMs = last === undefined ? NaN : Date.parse(last)
  return microTime(Number.isNaN(lastMs) ? wall : Math.max(wall, lastMs + 1))
}

/**
 * Renew a vouched node's Lease if nobody has: neither its holder, whose link would then be back, nor a writer of a
 * better rank. Whoever renewed it, a change seen here puts the own turn off by a whole period plus the own rank's
 * wait. The first time the writer of rank 0 renews at once. The resourceVersion guards against a renewal in between.
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
  if (now < seen.changedAt + wait)
    return { memory: seen, write: undefined, dueAt: seen.changedAt + wait }
  const renewed = renewTimeAfter(renewTime, turn.wall)
  const body = {
    metadata: { resourceVersion: lease.resourceVersion },
    spec: { renewTime: renewed },
  }
  return {
    memory: seen,
    write: {
      patch: { type: 'merge', body },
      whenDone: { renewTime: renewed, changedAt: now, isFirst: false },
    },
    dueAt: now + turn.renewEveryMs + rank * turn.writerStaggerMs,
  }
}
