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

/** Whether some member that is here to stay reaches the apiserver. One that just started does not know yet. */
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
 * Dead is whom a majority cannot reach, backed and held, even if the brake keeps the verdict from becoming final. A
 * node that says itself, freshly, that its kubelet is bad is sick rather than gone; so is one on its way back from
 * there, whose kubelet is well already. A node whose link alone is cut is alive, and the zone says so.
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

/** Settle the classes; returns whether one moved. */
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
 * How much of the zone looks dead from here, be it condemned or only out of reach. This is what is shown; whether
 * anything is held back is the brake's matter.
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
