// SPDX-License-Identifier: Apache-2.0
import { brakeLimit, isCondemned, isHeld } from './verdicts.js'
import { FLAG, type Evidence } from './evidence.js'
import { CLASSES, type Disruption, type Judgement, type NodeClass } from './judgement.js'
import type { Moment } from './moment.js'
import type { VoteOptions } from './options.js'
import { VERDICT } from './quorum.js'
import { isFresh, STANDING } from './tally.js'

const says = (evidence: Evidence, member: number, flag: number): boolean =>
  (evidence.flags[member]! & flag) !== 0

/** Whether some member reaches the apiserver; members that are leaving or have just started do not count. */
const someoneHasLink = (judgement: Judgement, evidence: Evidence): boolean => {
  for (let member = 0; member < evidence.size; member++) {
    const standing = judgement.standing[member]
    const speaks = standing === STANDING.counts || standing === STANDING.selfSuspect
    if (speaks && !says(evidence, member, FLAG.cloudCut)) return true
  }
  return false
}

const SICK = CLASSES.indexOf('kubelet-sick')

const isSick = (judgement: Judgement, evidence: Evidence, target: number): boolean =>
  says(evidence, target, FLAG.kubeletBad) || judgement.nodeClass[target] === SICK

/**
 * A node is dead when component quorum and hold stand behind the verdict, even if the brake keeps it from becoming final. If
 * the node's own fresh record says that its kubelet is bad, it is `kubelet-sick` instead, and stays so on its way back until
 * the verdict turns. A node of which only the link to the apiserver is cut is alive.
 */
const classOf = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  at: Scene,
): NodeClass => {
  const isDead =
    judgement.verdict[target] === VERDICT.unhealthy ||
    (judgement.pending[target] === VERDICT.unhealthy && isHeld(judgement, target, at))
  const fresh = isFresh(judgement, target)
  if (isDead) return fresh && isSick(judgement, evidence, target) ? 'kubelet-sick' : 'dead'
  if (judgement.verdict[target] === VERDICT.undecided) return 'undecided'
  if (!fresh || !says(evidence, target, FLAG.cloudCut)) return 'healthy'
  return at.hasLink ? 'cloud-link-cut' : 'zone-link-cut'
}

interface Scene extends Moment {
  readonly hasLink: boolean
}

/** Update the classes. @returns whether one changed */
export const reviewClasses = (judgement: Judgement, evidence: Evidence, at: Moment): boolean => {
  const scene: Scene = { ...at, hasLink: someoneHasLink(judgement, evidence) }
  let moved = false
  for (let target = 0; target < evidence.size; target++) {
    const code = CLASSES.indexOf(classOf(judgement, evidence, target, scene))
    if (code === judgement.nodeClass[target]) continue
    judgement.nodeClass[target] = code
    judgement.classAt[target] = at.now
    moved = true
  }
  return moved
}

/**
 * How much of the zone looks dead from here: condemned, or out of this node's reach. For display only; the brake counts for
 * itself.
 */
export const disruptionOf = (
  judgement: Judgement,
  evidence: Evidence,
  options: VoteOptions,
): Disruption => {
  let lost = 0
  for (let target = 0; target < evidence.size; target++)
    if (
      target !== evidence.self &&
      (judgement.localUp[target] === 0 || isCondemned(judgement, target))
    )
      lost++
  if (lost > 0 && lost === evidence.size - 1) return 'full'
  return lost > brakeLimit(evidence.size, options) ? 'partial' : 'normal'
}
