// SPDX-License-Identifier: Apache-2.0
import type { Evidence } from './evidence.js'
import type { Judgement } from './judgement.js'
import { STANDING } from './tally.js'

/** By how many votes "up" must lead to contradict the own "down"; fewer where the node has fewer other observers. */
const MARGIN = 2

/**
 * Whether the other observers of `target` that spoke after our own down verdict say up. In a zone of three each node has only
 * one other observer, so the lead cannot be two there: then all others must contradict.
 */
const isContradicted = (judgement: Judgement, evidence: Evidence, target: number): boolean => {
  const observers = evidence.observersOf(target)
  const { length } = observers
  const sinceAt = judgement.ownDownAt[target]!
  let others = 0
  let lead = 0
  for (let i = 0; i < length; i++) {
    const observer = observers[i]!
    if (observer === evidence.self) continue
    others++
    if (
      judgement.standing[observer] !== STANDING.counts ||
      evidence.producedAt[observer]! <= sinceAt
    )
      continue
    if (evidence.saysDown(observer, target)) lead--
    else if (evidence.hasLooked(observer, target)) lead++
  }
  return others > 0 && lead >= Math.min(MARGIN, others)
}

/**
 * Self-suspicion: more than half of the own targets look down from here, and the other observers say up about more than
 * half of those. Then the fault is here: the own votes no longer count anywhere, and the local view follows the peers.
 */
export const suspectsItself = (judgement: Judgement, evidence: Evidence): boolean => {
  if (2 * judgement.ownDowns <= judgement.ownTargets) return false
  let contradicted = 0
  for (let target = 0; target < evidence.size; target++)
    if (judgement.ownDownAt[target] !== Infinity && isContradicted(judgement, evidence, target))
      contradicted++
  return 2 * contradicted > judgement.ownDowns
}
