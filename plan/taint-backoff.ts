// SPDX-License-Identifier: Apache-2.0
import type { NodeView, Taint } from '../core/node.js'
import { NOTHING, type NodePlan } from './patch.js'
import { planTaints } from './taints.js'

/** The taint by which the control plane evicts from a node that it cannot see. */
const UNREACHABLE = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' } as const

const FIRST_WAIT_MS = 2_000
const LONGEST_WAIT_MS = 300_000

/** How often the taint was taken off a vouched node, and how long to wait before the next time. */
export interface TaintFight {
  readonly removals: number
  readonly lastAt: number
  readonly waitMs: number
}

export const NO_FIGHT: TaintFight = { removals: 0, lastAt: -Infinity, waitMs: 0 }

/** What to do about the taint now. */
export interface TaintStep {
  readonly plan: NodePlan
  /** What to remember, whatever becomes of the write: an attempt counts. */
  readonly fight: TaintFight
  /** When to look again while the taint stands; +Infinity when nothing is to be done. */
  readonly dueAt: number
}

const isUnreachable = (taint: Taint): boolean =>
  taint.key === UNREACHABLE.key && taint.effect === UNREACHABLE.effect

/**
 * SuperEdge's way (`--vouch=taint`): take `unreachable:NoExecute` off a vouched node. Today's control plane puts it
 * back at once while it sees no heartbeat, so each time that it does the wait doubles, up to five minutes. Once the
 * taint has stayed away that long, the quarrel is forgotten.
 */
export const taintStep = (fight: TaintFight, node: NodeView, now: number): TaintStep => {
  const forgetAt = fight.lastAt + LONGEST_WAIT_MS
  if (!node.taints.some(isUnreachable))
    return { plan: NOTHING, fight: now >= forgetAt ? NO_FIGHT : fight, dueAt: Infinity }
  const dueAt = fight.lastAt + fight.waitMs
  if (now < dueAt) return { plan: NOTHING, fight, dueAt }
  const waitMs = Math.min(LONGEST_WAIT_MS, fight.waitMs === 0 ? FIRST_WAIT_MS : 2 * fight.waitMs)
  return {
    plan: planTaints(node, { unwanted: isUnreachable, wanted: [], at: '' }),
    fight: { removals: fight.removals + 1, lastAt: now, waitMs },
    dueAt: now + waitMs,
  }
}
