// SPDX-License-Identifier: Apache-2.0
import { FLAG, type Evidence } from './evidence.js'
import type { Judgement, Voice } from './judgement.js'
import { decide, decideAmongFew, quorumOf, type VerdictCode } from './quorum.js'
import { isFresh } from './tally.js'
import { witnessSpeaks } from './witness.js'

/** Whether all others watch the node (mesh), so that the whole roster can vote on it. */
export const isMesh = (e: Evidence, target: number): boolean =>
  e.observersOf(target).length >= e.size - 1

/** Counted "up" voices; where the whole roster votes, the node's own word is one of them. */
export const upVoices = (j: Judgement, e: Evidence, target: number): number =>
  j.up[target]! + (isMesh(e, target) ? j.ownWord[target]! : 0)

/**
 * A Lease that its kubelet renews is the node's own word as well, by another way; it counts as that where the word does not
 * come by this one. Without it a mark stayed on a live node while the link between the two alone was broken.
 */
const voicesOfWitness = (j: Judgement, e: Evidence, target: number): number => {
  const saysSick = isFresh(j, target) && (e.flags[target]! & FLAG.kubeletBad) !== 0
  return j.witness === 'up' && j.ownWord[target] === 0 && !saysSick ? 2 : 1
}

/** The witness is a third voter about the peer; about the own node it knows nothing. */
const rulingOfTwo = (j: Judgement, e: Evidence, target: number): VerdictCode => {
  let up = upVoices(j, e, target)
  let down = j.down[target]!
  if (target !== e.self) {
    const backsDown = j.witness === 'down' || (j.witness === 'with-us' && down > 0)
    if (backsDown) down++
    else if (witnessSpeaks(j.witness)) up += voicesOfWitness(j, e, target)
  }
  return decide(3, up, down)
}

/** What the counted votes ask for at this moment. */
export const rulingOf = (j: Judgement, e: Evidence, target: number): VerdictCode => {
  if (e.size === 2) return rulingOfTwo(j, e, target)
  if (!isMesh(e, target)) return decideAmongFew(j.up[target]!, j.down[target]!)
  return decide(e.size, upVoices(j, e, target), j.down[target]!)
}

/** Members whose records may be believed, and the witness of a zone of two where it speaks. */
export const presentVoices = (j: Judgement, e: Evidence): number => {
  let present = witnessSpeaks(j.witness) ? 1 : 0
  for (let member = 0; member < e.size; member++) if (isFresh(j, member)) present++
  return present
}

/** Who may decide: an agent that is sound, past its first round, staying, and in touch with most of the roster. */
export const voiceOf = (j: Judgement, e: Evidence): Voice => {
  const flags = e.flags[e.self]!
  if (j.selfSuspect) return 'self-suspect'
  if ((flags & FLAG.warming) !== 0) return 'warming'
  if ((flags & FLAG.leaving) !== 0) return 'leaving'
  return presentVoices(j, e) >= quorumOf(e.size) && isFresh(j, e.self) ? 'full' : 'minority'
}

/**
 * Latest time at or after which a strict majority of the roster produced a record. A verdict that began before it has
 * its component quorum: that majority spoke while the votes stood, so no other group can have one.
 */
export const majoritySpokeAt = (j: Judgement, e: Evidence): number => {
  // In a zone of two a speaking witness stands beside the own node, at this very moment.
  if (witnessSpeaks(j.witness)) return e.producedAt[e.self]!
  for (let member = 0; member < e.size; member++)
    j.scratch[member] = isFresh(j, member) ? e.producedAt[member]! : -Infinity
  return j.scratch.sort()[e.size - quorumOf(e.size)]!
}
