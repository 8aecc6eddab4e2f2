// SPDX-License-Identifier: Apache-2.0
import { brakeLimit, isCondemned, isHeld } from './verdicts.js'
import { FLAG, type Evidence } from './evidence.js'
import { CLASSES, type Disruption, type Judgement, type NodeClass } from './judgement.js'
import type { Moment } from './moment.js'
import type { VoteOptions } from './options.js'
import { VERDICT } from './quorum.js'
import { isFresh, STANDING } from './tally.js'

const says = (e: Evidence, member: number, flag: number): boolean => (e.flags[member]! & flag) !== 0

/** Whether some member that is here to stay reaches the apiserver. One that just started does not know yet. */
const someoneHasLink = (j: Judgement, e: Evidence): boolean => {
  for (let member = 0; member < e.size; member++) {
    const standing = j.standing[member]
    const speaks = standing === STANDING.counts || standing === STANDING.selfSuspect
    if (speaks && !says(e, member, FLAG.cloudCut)) return true
  }
  return false
}

const SICK = CLASSES.indexOf('kubelet-sick')

const isSick = (j: Judgement, e: Evidence, target: number): boolean =>
  says(e, target, FLAG.kubeletBad) || j.nodeClass[target] === SICK

/**
 * Dead is whom a majority cannot reach, backed and held, even if the brake keeps the verdict from becoming final. A
 * node that says itself, freshly, that its kubelet is bad is sick rather than gone; so is one on its way back from
 * there, whose kubelet is well already. A node whose link alone is cut is alive, and the zone says so.
 */
const classOf = (j: Judgement, e: Evidence, target: number, at: Scene): NodeClass => {
  const isDead =
    j.verdict[target] === VERDICT.unhealthy ||
    (j.pending[target] === VERDICT.unhealthy && isHeld(j, target, at))
  const fresh = isFresh(j, target)
  if (isDead) return fresh && isSick(j, e, target) ? 'kubelet-sick' : 'dead'
  if (j.verdict[target] === VERDICT.undecided) return 'undecided'
  if (!fresh || !says(e, target, FLAG.cloudCut)) return 'healthy'
  return at.hasLink ? 'cloud-link-cut' : 'zone-link-cut'
}

interface Scene extends Moment {
  readonly hasLink: boolean
}

/** Settle the classes; returns whether one moved. */
export const reviewClasses = (j: Judgement, e: Evidence, at: Moment): boolean => {
  const scene: Scene = { ...at, hasLink: someoneHasLink(j, e) }
  let moved = false
  for (let target = 0; target < e.size; target++) {
    const code = CLASSES.indexOf(classOf(j, e, target, scene))
    if (code === j.nodeClass[target]) continue
    j.nodeClass[target] = code
    j.classAt[target] = at.now
    moved = true
  }
  return moved
}

/**
 * How much of the zone looks dead from here, be it condemned or only out of reach. This is what is shown; whether
 * anything is held back is the brake's matter.
 */
export const disruptionOf = (j: Judgement, e: Evidence, o: VoteOptions): Disruption => {
  let lost = 0
  for (let target = 0; target < e.size; target++)
    if (target !== e.self && (j.localUp[target] === 0 || isCondemned(j, target))) lost++
  if (lost > 0 && lost === e.size - 1) return 'full'
  return lost > brakeLimit(e.size, o) ? 'partial' : 'normal'
}
