// SPDX-License-Identifier: Apache-2.0
import { FLAG, type Evidence } from './evidence.js'
import type { Judgement, Voice } from './judgement.js'
import { decide, decideAmongFew, quorumOf, type VerdictCode } from './quorum.js'
import { isFresh } from './tally.js'
import { witnessSpeaks } from './witness.js'

/** Whether all others watch the node (mesh), so that the whole roster can vote on it. */
export const isMesh = (evidence: Evidence, target: number): boolean =>
  evidence.observersOf(target).length >= evidence.size - 1

/** Counted "up" voices; where the whole roster votes, the node's own record is one of them. */
export const upVoices = (judgement: Judgement, evidence: Evidence, target: number): number =>
  judgement.up[target]! + (isMesh(evidence, target) ? judgement.ownWord[target]! : 0)

/**
 * A Lease that its kubelet renews is a sign of life as well: it counts as the node's own record where that does not arrive.
 * Without it a mark would stay on a live node while only the link between the two is broken.
 */
const voicesOfWitness = (judgement: Judgement, evidence: Evidence, target: number): number => {
  const saysSick = isFresh(judgement, target) && (evidence.flags[target]! & FLAG.kubeletBad) !== 0
  return judgement.witness === 'up' && judgement.ownWord[target] === 0 && !saysSick ? 2 : 1
}

/** The witness is a third voter about the peer; it does not vote about the own node. */
const rulingOfTwo = (judgement: Judgement, evidence: Evidence, target: number): VerdictCode => {
  let up = upVoices(judgement, evidence, target)
  let down = judgement.down[target]!
  if (target !== evidence.self) {
    const backsDown = judgement.witness === 'down' || (judgement.witness === 'with-us' && down > 0)
    if (backsDown) down++
    else if (witnessSpeaks(judgement.witness)) up += voicesOfWitness(judgement, evidence, target)
  }
  return decide(3, up, down)
}

/** What the counted votes ask for at this moment. */
export const rulingOf = (judgement: Judgement, evidence: Evidence, target: number): VerdictCode => {
  if (evidence.size === 2) return rulingOfTwo(judgement, evidence, target)
  if (!isMesh(evidence, target))
    return decideAmongFew(judgement.up[target]!, judgement.down[target]!)
  return decide(evidence.size, upVoices(judgement, evidence, target), judgement.down[target]!)
}

/** Members whose records may be believed, and the witness of a zone of two where it speaks. */
export const presentVoices = (judgement: Judgement, evidence: Evidence): number => {
  let present = witnessSpeaks(judgement.witness) ? 1 : 0
  for (let member = 0; member < evidence.size; member++) if (isFresh(judgement, member)) present++
  return present
}

/** An agent may decide if it does not suspect itself, has finished its first round, is not leaving, and hears most of the roster. */
export const voiceOf = (judgement: Judgement, evidence: Evidence): Voice => {
  const flags = evidence.flags[evidence.self]!
  if (judgement.selfSuspect) return 'self-suspect'
  if ((flags & FLAG.warming) !== 0) return 'warming'
  if ((flags & FLAG.leaving) !== 0) return 'leaving'
  return presentVoices(judgement, evidence) >= quorumOf(evidence.size) &&
    isFresh(judgement, evidence.self)
    ? 'full'
    : 'minority'
}

/**
 * Latest time at or after which a strict majority of the roster produced a record. A verdict that began before it has
 * its component quorum: that majority spoke after the votes turned, so no other side of a partition can have one.
 */
export const majoritySpokeAt = (judgement: Judgement, evidence: Evidence): number => {
  // In a zone of two the own node and a witness that speaks now are the majority.
  if (witnessSpeaks(judgement.witness)) return evidence.producedAt[evidence.self]!
  for (let member = 0; member < evidence.size; member++)
    judgement.scratch[member] = isFresh(judgement, member)
      ? evidence.producedAt[member]!
      : -Infinity
  return judgement.scratch.sort()[evidence.size - quorumOf(evidence.size)]!
}
