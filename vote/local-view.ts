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
const isWatched = (j: Judgement, e: Evidence, target: number): boolean => {
  const observers = e.observersOf(target)
  const { length } = observers
  for (let i = 0; i < length; i++) if (j.standing[observers[i]!] === STANDING.counts) return true
  return false
}

const byPeers = (j: Judgement, e: Evidence, target: number): boolean => {
  const up = j.up[target]!
  const down = j.down[target]!
  if (up + down > 0) return down <= up
  // Nobody can tell, so it stays as it was. Only who is silent together with all that watch it is hidden; an agent that
  // never knew anything hides nobody.
  const isSilent = e.producedAt[target] !== -Infinity && !isFresh(j, target)
  const isGone = isSilent && !isWatched(j, e, target)
  return !isGone && j.localUp[target] === 1
}

const byOwnDown = (j: Judgement, e: Evidence, target: number): boolean => {
  const down = j.down[target]!
  const up = j.up[target]!
  const isDoubtful = down < backingOf(down + up) && e.failedRounds[target]! < OWN_ROUNDS
  // A first failed round hides nobody, but after a time without rounds it shows nobody again either.
  return isDoubtful && (j.localUp[target] === 1 || up > 0)
}

/** Held by us it stays as it was, until a peer says up and fewer of those that watch it are in doubt than hide a node. */
const byHold = (j: Judgement, e: Evidence, target: number): boolean => {
  const up = j.up[target]!
  const observers = e.observersOf(target)
  const { length } = observers
  let voices = 0
  for (let i = 0; i < length; i++) if (j.standing[observers[i]!] === STANDING.counts) voices++
  return j.localUp[target] === 1 || (up > 0 && voices - up < backingOf(voices))
}

/**
 * Whether this node, or else its peers, can reach `target`. The own node is up, whatever others say, unless its own
 * kubelet says that it is not.
 */
const isReachable = (j: Judgement, e: Evidence, target: number): boolean => {
  if (target === e.self) return (e.flags[target]! & FLAG.kubeletBad) === 0
  if (j.selfSuspect) return byPeers(j, e, target)
  if (e.failedRounds[target] === HELD) return byHold(j, e, target)
  const own = ownProbe(e, target)
  if (own === undefined) return byPeers(j, e, target)
  return own === 'up' || byOwnDown(j, e, target)
}

/** Settle the local view; returns the members for which it moved. */
export const reviewLocalView = (j: Judgement, e: Evidence, now: number): number[] => {
  const moved: number[] = []
  for (let target = 0; target < e.size; target++) {
    const up = isReachable(j, e, target) ? 1 : 0
    if (up === j.localUp[target]) continue
    j.localUp[target] = up
    j.localAt[target] = now
    moved.push(target)
  }
  return moved
}
