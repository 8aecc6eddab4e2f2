// SPDX-License-Identifier: Apache-2.0
import { FLAG, HELD, type Evidence } from './evidence.js'
import type { Judgement } from './judgement.js'
import { ownProbe } from './correlated-failure.js'
import { isFresh, STANDING } from './tally.js'

/** Peers that agree, as a share of the votes, before one failed own round is believed at once. */
const BACKING_SHARE = 0.2
const BACKING_MIN = 2
const backingOf = (votes: number): number => Math.max(BACKING_MIN, BACKING_SHARE * votes)
/** Own rounds that fail in a row are believed without anybody else: a link that is broken only from here. */
const OWN_ROUNDS = 2

/** Somebody who is to look at it has a voice. */
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
  // Nobody can tell, so it stays as it was. Only who is silent together with all that watch it is hidden; an agent that
  // never knew anything hides nobody.
  const isSilent = evidence.producedAt[target] !== -Infinity && !isFresh(judgement, target)
  const isGone = isSilent && !isWatched(judgement, evidence, target)
  return !isGone && judgement.localUp[target] === 1
}

const byOwnDown = (judgement: Judgement, evidence: Evidence, target: number): boolean => {
  const down = judgement.down[target]!
  const up = judgement.up[target]!
  const isDoubtful = down < backingOf(down + up) && evidence.failedRounds[target]! < OWN_ROUNDS
  // A first failed round hides nobody, but after a time without rounds it shows nobody again either.
  return isDoubtful && (judgement.localUp[target] === 1 || up > 0)
}

/** Held by us it stays as it was, until a peer says up and fewer of those that watch it are in doubt than hide a node. */
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
 * Whether this node, or else its peers, can reach `target`. The own node is up, whatever others say, unless its own
 * kubelet says that it is not.
 */
const isReachable = (judgement: Judgement, evidence: Evidence, target: number): boolean => {
  if (target === evidence.self) return (evidence.flags[target]! & FLAG.kubeletBad) === 0
  if (judgement.selfSuspect) return byPeers(judgement, evidence, target)
  if (evidence.failedRounds[target] === HELD) return byHold(judgement, evidence, target)
  const own = ownProbe(evidence, target)
  if (own === undefined) return byPeers(judgement, evidence, target)
  return own === 'up' || byOwnDown(judgement, evidence, target)
}

/** Settle the local view; returns the members for which it moved. */
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
