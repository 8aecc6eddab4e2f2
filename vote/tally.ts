// SPDX-License-Identifier: Apache-2.0
import { FLAG, type Evidence } from './evidence.js'
import { noteDeadline, type NextDeadline } from './next-deadline.js'
import type { Judgement } from './judgement.js'
import type { Moment } from './moment.js'
import { VERDICT } from './quorum.js'

/** Whether a member's votes count, or why not. Up to `leaving` its record is fresh; from `gone` on it is not. */
export const STANDING = {
  counts: 0,
  selfSuspect: 1,
  warming: 2,
  leaving: 3,
  /** Its newest record is older than `recordTtlMs`. */
  gone: 4,
  /** Correlated failure: it has not spoken since that began. */
  silentSinceFailure: 5,
  unheard: 6,
} as const

/** Whether the member's newest record may be believed at all. */
export const isFresh = (judgement: Judgement, member: number): boolean =>
  judgement.standing[member]! <= STANDING.leaving

/**
 * Freshness is the age of what is said, not when it arrived: a message that took a minute to get here is a minute
 * old. The own record has no privilege. The own node's suspicion of itself is taken from the judgement, where it is
 * known first.
 */
const standingOf = (
  judgement: Judgement,
  evidence: Evidence,
  member: number,
  frame: Frame,
): number => {
  const producedAt = evidence.producedAt[member]!
  if (producedAt === -Infinity) return STANDING.unheard
  if (frame.now >= producedAt + frame.ttlMs) return STANDING.gone
  if (producedAt < frame.sinceAt) return STANDING.silentSinceFailure
  const flags = evidence.flags[member]!
  const isSuspect =
    member === evidence.self ? judgement.selfSuspect : (flags & FLAG.selfSuspect) !== 0
  if (isSuspect) return STANDING.selfSuspect
  if ((flags & FLAG.leaving) !== 0) return STANDING.leaving
  return (flags & FLAG.warming) !== 0 ? STANDING.warming : STANDING.counts
}

interface Frame {
  readonly now: number
  readonly ttlMs: number
  /** Records made before this are not believed; −Infinity outside correlated failure and in its first window. */
  readonly sinceAt: number
}

const frameOf = (judgement: Judgement, { now, options }: Moment): Frame => ({
  now,
  ttlMs: options.recordTtlMs,
  sinceAt:
    now >= judgement.correlatedFailureAt + options.reaffirmWindowMs
      ? judgement.correlatedFailureAt
      : -Infinity,
})

/** Settle the standing of everybody. */
export const reviewStandings = (
  judgement: Judgement,
  evidence: Evidence,
  deadline: NextDeadline,
): void => {
  const frame = frameOf(judgement, deadline)
  for (let member = 0; member < evidence.size; member++) {
    judgement.standing[member] = standingOf(judgement, evidence, member, frame)
    noteDeadline(deadline, evidence.producedAt[member]! + deadline.options.recordTtlMs)
  }
}

/** Settle the own standing again after self-suspicion starts or ends. */
export const reviewOwnStanding = (judgement: Judgement, evidence: Evidence, at: Moment): void => {
  judgement.standing[evidence.self] = standingOf(
    judgement,
    evidence,
    evidence.self,
    frameOf(judgement, at),
  )
}

/**
 * The instant since which an "up" about the node must have been said in order to count. Nothing is asked of it while
 * the node is uncontested or in the contest's first window; then it must be younger than the contest: who went
 * silent together with the node must not keep it alive. Once it is condemned, what was said before, its own last record
 * too, is no sign that it came back.
 */
export const upsCountSince = (
  judgement: Judgement,
  target: number,
  { now, options }: Moment,
): number => {
  const contestAt = judgement.contestAt[target]!
  const contestedAt = now >= contestAt + options.reaffirmWindowMs ? contestAt : -Infinity
  const isCondemned = judgement.verdict[target] === VERDICT.unhealthy
  return isCondemned ? Math.max(contestedAt, judgement.verdictAt[target]!) : contestedAt
}

const countAbout = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  sinceAt: number,
): void => {
  const observers = evidence.observersOf(target)
  const { length } = observers
  const isQuiet = evidence.downVotes[target] === 0
  let up = 0
  let down = 0
  for (let i = 0; i < length; i++) {
    const observer = observers[i]!
    if (judgement.standing[observer] !== STANDING.counts) continue
    if (!isQuiet && evidence.saysDown(observer, target)) down++
    else if (evidence.producedAt[observer]! >= sinceAt && evidence.hasLooked(observer, target)) up++
  }
  judgement.up[target] = up
  judgement.down[target] = down
}

/** A node that speaks and whose kubelet is not bad is one voice for itself, as in SuperEdge, where all probe themselves. */
const speaksForItself = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  sinceAt: number,
): boolean =>
  judgement.standing[target] === STANDING.counts &&
  evidence.producedAt[target]! >= sinceAt &&
  (evidence.flags[target]! & FLAG.kubeletBad) === 0

/** A zone of one has no observers: its own self-report is the only vote, and "unknown" is none. */
const countAlone = (judgement: Judgement, evidence: Evidence): void => {
  const flags = judgement.standing[0] === STANDING.counts ? evidence.flags[0]! : 0
  judgement.down[0] = (flags & FLAG.kubeletBad) !== 0 ? 1 : 0
  judgement.up[0] = (flags & FLAG.kubeletWell) !== 0 ? 1 - judgement.down[0] : 0
  judgement.ownWord[0] = 0
}

/** Count the votes about everybody. Only roster members have a column, so that strangers cannot vote. */
export const countVotes = (judgement: Judgement, evidence: Evidence, at: Moment): void => {
  if (evidence.size === 1) {
    countAlone(judgement, evidence)
    return
  }
  for (let target = 0; target < evidence.size; target++) {
    const sinceAt = upsCountSince(judgement, target, at)
    countAbout(judgement, evidence, target, sinceAt)
    judgement.ownWord[target] = speaksForItself(judgement, evidence, target, sinceAt) ? 1 : 0
  }
}
