// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import type { NodeView } from '../../../core/node.js'
import type { NodePlan } from '../../../plan/patch.js'
import { describeTaintBackoff, type Wording } from '../../../plan/messages.js'
import { NO_BACKOFF, taintStep, type TaintBackoff } from '../../../plan/taint-backoff.js'
import { keepOnly } from '../../keep-only.js'

/** SuperEdge's way of vouching: takes the unreachable taint off, ever more slowly while it is put back. */
export interface TaintRemover {
  /** Whether the taint has to go now, and when to look again. */
  review(node: NodeView, wording: Wording): { readonly isDue: boolean; readonly nextAt: number }
  /** A plan for one removal; a taint that the control plane puts back meanwhile is left to the next review. */
  removal(): (node: NodeView) => NodePlan
  /** The present backoff, in words; undefined where there is none. */
  backoff(node: string, wording: Wording): string | undefined
  /** Forget nodes that left the zone. */
  keepOnly(isKept: (node: string) => boolean): void
}

export const makeTaintRemover = (seams: {
  readonly clock: Clock
  readonly log: Logger
}): TaintRemover => {
  const { clock, log } = seams
  const backoffs = new Map<string, TaintBackoff>()
  const backoff = (node: string, wording: Wording): string | undefined =>
    describeTaintBackoff(backoffs.get(node) ?? NO_BACKOFF, wording)
  return {
    review: (node, wording) => {
      const step = taintStep(backoffs.get(node.name) ?? NO_BACKOFF, node, clock.now())
      backoffs.set(node.name, step.backoff)
      const isDue = step.plan.kind !== 'nothing'
      const words = isDue ? backoff(node.name, wording) : undefined
      if (words !== undefined) log.warn('taint was put back', { member: node.name, detail: words })
      return { isDue, nextAt: step.dueAt }
    },
    removal: () => {
      let isMade = false
      return node => {
        if (isMade) return { kind: 'nothing' }
        isMade = true
        return taintStep(NO_BACKOFF, node, clock.now()).plan
      }
    },
    backoff,
    keepOnly: isKept => keepOnly(backoffs, isKept),
  }
}
