// SPDX-License-Identifier: Apache-2.0
import { FLAG, HELD, type Evidence } from './evidence.js'
import { noteDeadline, type NextDeadline } from './next-deadline.js'
import type { Judgement } from './judgement.js'

/** Contested nodes beyond this share of the zone, and beyond two, look like a partition rather than crashes. */
const CORRELATED_SHARE = 0.1

/** Whether the own probes say that the node is down; undefined when there was no round yet. */
export const ownProbe = (evidence: Evidence, target: number): 'up' | 'down' | undefined => {
  if (target === evidence.self || evidence.failedRounds[target]! < 0) return undefined
  return evidence.failedRounds[target]! > 0 || evidence.saysDown(evidence.self, target)
    ? 'down'
    : 'up'
}

/** Expired records do not count: a dead voter's last record must not keep a node contested for ever. */
const isContested = (evidence: Evidence, target: number, deadline: NextDeadline): boolean => {
  if (evidence.downVotes[target]! < 2) return false
  const observers = evidence.observersOf(target)
  const { length } = observers
  let known = 0
  for (let i = 0; i < length; i++) {
    const observer = observers[i]!
    const expiresAt = evidence.producedAt[observer]! + deadline.options.recordTtlMs
    if (deadline.now >= expiresAt || !evidence.saysDown(observer, target)) continue
    noteDeadline(deadline, expiresAt)
    known++
  }
  return known >= 2
}

/** Begin and end contests and own down verdicts; returns how many nodes are contested. */
const reviewContests = (
  judgement: Judgement,
  evidence: Evidence,
  deadline: NextDeadline,
): number => {
  let contested = 0
  judgement.ownTargets = 0
  judgement.ownDowns = 0
  for (let target = 0; target < evidence.size; target++) {
    if (isContested(evidence, target, deadline)) {
      contested++
      if (judgement.contestAt[target] === Infinity) judgement.contestAt[target] = deadline.now
      noteDeadline(deadline, judgement.contestAt[target]! + deadline.options.reaffirmWindowMs)
    } else judgement.contestAt[target] = Infinity
    const own = ownProbe(evidence, target)
    if (own !== undefined || evidence.failedRounds[target] === HELD) judgement.ownTargets++
    if (own === 'down') {
      judgement.ownDowns++
      if (judgement.ownDownAt[target] === Infinity) judgement.ownDownAt[target] = deadline.now
    } else judgement.ownDownAt[target] = Infinity
  }
  return contested
}

/**
 * Begin and end contests and correlated failure: so many nodes fail together that something between them is likelier to
 * have failed. From one window after it began, only records made since it began count: in a partition the other side's
 * last records would otherwise count until they are `recordTtlMs` old. An agent that is still warming up does not declare
 * it from its own few probes.
 */
export const reviewCorrelatedFailure = (
  judgement: Judgement,
  evidence: Evidence,
  deadline: NextDeadline,
): void => {
  const contested = reviewContests(judgement, evidence, deadline)
  const isWarm = (evidence.flags[evidence.self]! & FLAG.warming) === 0
  judgement.correlatedFailure =
    contested > Math.max(2, CORRELATED_SHARE * evidence.size) ||
    (isWarm && 2 * judgement.ownDowns > judgement.ownTargets)
  if (!judgement.correlatedFailure) judgement.correlatedFailureAt = Infinity
  else if (judgement.correlatedFailureAt === Infinity) judgement.correlatedFailureAt = deadline.now
  noteDeadline(deadline, judgement.correlatedFailureAt + deadline.options.reaffirmWindowMs)
}
