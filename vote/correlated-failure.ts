// SPDX-License-Identifier: Apache-2.0
import { FLAG, HELD, type Evidence } from './evidence.js'
import { noteDeadline, type NextDeadline } from './next-deadline.js'
import type { Judgement } from './judgement.js'

/** Contested nodes beyond this share of the zone, and beyond two, look like a partition rather than crashes. */
const CORRELATED_SHARE = 0.1

/** Whether the own probes say that the node is down; undefined when there was no round yet. */
export const ownProbe = (e: Evidence, target: number): 'up' | 'down' | undefined => {
  if (target === e.self || e.failedRounds[target]! < 0) return undefined
  return e.failedRounds[target]! > 0 || e.saysDown(e.self, target) ? 'down' : 'up'
}

/** A dead voter's last words must not keep a node contested for ever, so records past their time are left out. */
const isContested = (e: Evidence, target: number, deadline: NextDeadline): boolean => {
  if (e.downVotes[target]! < 2) return false
  const observers = e.observersOf(target)
  const { length } = observers
  let known = 0
  for (let i = 0; i < length; i++) {
    const observer = observers[i]!
    const expiresAt = e.producedAt[observer]! + deadline.options.recordTtlMs
    if (deadline.now >= expiresAt || !e.saysDown(observer, target)) continue
    noteDeadline(deadline, expiresAt)
    known++
  }
  return known >= 2
}

/** Begin and end contests and own down verdicts; returns how many nodes are contested. */
const reviewContests = (j: Judgement, e: Evidence, deadline: NextDeadline): number => {
  let contested = 0
  j.ownTargets = 0
  j.ownDowns = 0
  for (let target = 0; target < e.size; target++) {
    if (isContested(e, target, deadline)) {
      contested++
      if (j.contestAt[target] === Infinity) j.contestAt[target] = deadline.now
      noteDeadline(deadline, j.contestAt[target]! + deadline.options.reaffirmWindowMs)
    } else j.contestAt[target] = Infinity
    const own = ownProbe(e, target)
    if (own !== undefined || e.failedRounds[target] === HELD) j.ownTargets++
    if (own === 'down') {
      j.ownDowns++
      if (j.ownDownAt[target] === Infinity) j.ownDownAt[target] = deadline.now
    } else j.ownDownAt[target] = Infinity
  }
  return contested
}

/**
 * Begin and end contests and correlated failure: so many nodes fail together that something between them is likelier to
 * have failed. A window after it began only records made since then count: in a partition the other side's last words
 * would else be believed until they are as old as `recordTtlMs`. An agent that is still warming up does not call it from
 * its own few probes.
 */
export const reviewCorrelatedFailure = (
  j: Judgement,
  e: Evidence,
  deadline: NextDeadline,
): void => {
  const contested = reviewContests(j, e, deadline)
  const isWarm = (e.flags[e.self]! & FLAG.warming) === 0
  j.correlatedFailure =
    contested > Math.max(2, CORRELATED_SHARE * e.size) || (isWarm && 2 * j.ownDowns > j.ownTargets)
  if (!j.correlatedFailure) j.correlatedFailureAt = Infinity
  else if (j.correlatedFailureAt === Infinity) j.correlatedFailureAt = deadline.now
  noteDeadline(deadline, j.correlatedFailureAt + deadline.options.reaffirmWindowMs)
}
