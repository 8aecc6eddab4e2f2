// SPDX-License-Identifier: Apache-2.0
import type { NodeView, Taint } from '../core/node.js'
import { UNREACHABLE_TAINT } from '../core/marks.js'
import { NOTHING, type NodePlan } from './patch.js'
import { planTaints } from './taints.js'

/** The taint by which the control plane evicts from a node that it cannot see. */
const UNREACHABLE = { key: UNREACHABLE_TAINT, effect: 'NoExecute' } as const

const FIRST_WAIT_MS = 2_000
const LONGEST_WAIT_MS = 300_000

/** How often the taint was taken off a vouched node, and how long to wait before the next time. */
export interface TaintBackoff {
  readonly removals: number
  readonly lastAt: number
  readonly waitMs: number
}

export const NO_BACKOFF: TaintBackoff = { removals: 0, lastAt: -Infinity, waitMs: 0 }

/** What to do about the taint now. */
export interface TaintStep {
  readonly plan: NodePlan
  /** What to remember, whatever the outcome of the write: an attempt counts. */
  readonly backoff: TaintBackoff
  /** When to look again while the taint stands; +Infinity when nothing is to be done. */
  readonly dueAt: number
}

const isUnreachable = (taint: Taint): boolean =>
  taint.key === UNREACHABLE.key && taint.effect === UNREACHABLE.effect

/**
 * SuperEdge's way (`--vouch=taint`): take `unreachable:NoExecute` off a vouched node. The control plane puts it
 * back at once while it sees no heartbeat, so the wait doubles with each removal, up to five minutes. Once the
 * taint has stayed away that long, the backoff is forgotten.
 */
export const taintStep = (backoff: TaintBackoff, node: NodeView, now: number): TaintStep => {
  const forgetAt = backoff.lastAt + LONGEST_WAIT_MS
  if (!node.taints.some(isUnreachable))
    return { plan: NOTHING, backoff: now >= forgetAt ? NO_BACKOFF : backoff, dueAt: Infinity }
  const dueAt = backoff.lastAt + backoff.waitMs
  if (now < dueAt) return { plan: NOTHING, backoff, dueAt }
  const waitMs = Math.min(
    LONGEST_WAIT_MS,
    backoff.waitMs === 0 ? FIRST_WAIT_MS : 2 * backoff.waitMs,
  )
  return {
    plan: planTaints(node, { unwanted: isUnreachable, wanted: [], at: '' }),
    backoff: { removals: backoff.removals + 1, lastAt: now, waitMs },
    dueAt: now + waitMs,
  }
}
