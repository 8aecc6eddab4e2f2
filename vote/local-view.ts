// SPDX-License-Identifier: Apache-2.0
import { FLAG, HELD, type Evidence } from './evidence.js'
import type { Judgement } from './judgement.js'
import { ownProbe } from './correlated-failure.js'
import { isFresh, STANDING } from './tally.js'

/** If peers with this share of the votes say down too, a first failed round of our own is believed at once. */
const BACKING_SHARE = 0.2
const BACKING_MIN = 2
const backingOf = (votes: number): number => Math.max(BACKING_MIN, BACKING_SHARE * votes)
/** This many own failed rounds in a row are believed without any peer: only our own link to the node may be broken. */
const OWN_ROUNDS = 2

/** Whether the votes of some observer of the node count. */
const isWatched = (judgement: Judgement, evidence: Evidence, target: number): boolean => {
  const observers = evidence.observersOf(target)
  const { length } = observers
  for (let i = 0; i < length; i++)
    if (judgement.standing[observers[i]!] === STANDING.counts) return true
  return false
}

const byPeers = (judgement: Judgement, evidence: Evidence, target: number): boolean => {
  const up = judgement.up[target]!
  const down = judgement.down[target]!
  if (up + down > 0) return down <= up
  // Nobody can tell, so the view stays as it was. A node is hidden only if it and all its observers fell silent; one that was
  // never heard is not hidden.
  const isSilent = evidence.producedAt[target] !== -Infinity && !isFresh(judgement, target)
  const isGone = isSilent && !isWatched(judgement, evidence, target)
  return !isGone && judgement.localUp[target] === 1
}

const byOwnDown = (judgement: Judgement, evidence: Evidence, target: number): boolean => {
  const down = judgement.down[target]!
  const up = judgement.up[target]!
  const isDoubtful = down < backingOf(down + up) && evidence.failedRounds[target]! < OWN_ROUNDS
  // A first failed round hides no node, but it does not show a hidden one again either, unless a peer says up.
  return isDoubtful && (judgement.localUp[target] === 1 || up > 0)
}

/** While our own vote is held back, the view stays as it was, until a peer says up and too few observers disagree to hide a node. */
const byHold = (judgement: Judgement, evidence: Evidence, target: number): boolean => {
  const up = judgement.up[target]!
  const observers = evidence.observersOf(target)
  const { length } = observers
  let voices = 0
  for (let i = 0; i < length; i++)
    if (judgement.standing[observers[i]!] === STANDING.counts) voices++
  return judgement.localUp[target] === 1 || (up > 0 && voices - up < backingOf(voices))
}

/**
 * Whether this node or its peers can reach `target`. The own node is up whatever others say, unless its own kubelet is bad.
 */
const isReachable = (judgement: Judgement, evidence: Evidence, target: number): boolean => {
  if (target === evidence.self) return (evidence.flags[target]! & FLAG.kubeletBad) === 0
  if (judgement.selfSuspect) return byPeers(judgement, evidence, target)
  if (evidence.failedRounds[target] === HELD) return byHold(judgement, evidence, target)
  const own = ownProbe(evidence, target)
  if (own === undefined) return byPeers(judgement, evidence, target)
  return own === 'up' || byOwnDown(judgement, evidence, target)
}

/** Update the local view; returns the members for which it changed. */
export const reviewLocalView = (
  judgement: Judgement,
  evidence: Evidence,
  now: number,
): number[] => {
  const moved: number[] = []
  for (let target = 0; target < evidence.size; target++) {
    const up = isReachable(judgement, evidence, target) ? 1 : 0
    if (up === judgement.localUp[target]) continue
    judgement.localUp[target] = up
    judgement.localAt[target] = now
    moved.push(target)
  }
  return moved
}
