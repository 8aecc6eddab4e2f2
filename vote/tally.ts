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
  /** It has not been heard since the present correlated failure began. */
  silentSinceFailure: 5,
  unheard: 6,
} as const

/** Whether the member's newest record may be believed at all. */
export const isFresh = (judgement: Judgement, member: number): boolean =>
  judgement.standing[member]! <= STANDING.leaving

/**
 * Freshness is the age of a record's content, not the time since it arrived: a message that took a minute is a minute old.
 * The own record is treated as any other. Self-suspicion of the own node comes from the judgement, where it is known first.
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
  /** Older records do not count; −Infinity outside correlated failure and in its first window. */
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

/** Update the standing of all members. */
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

/** Update the own standing after self-suspicion started or ended. */
export const reviewOwnStanding = (judgement: Judgement, evidence: Evidence, at: Moment): void => {
  judgement.standing[evidence.self] = standingOf(
    judgement,
    evidence,
    evidence.self,
    frameOf(judgement, at),
  )
}

/**
 * How old an "up" about the node may be: the instant at or after which it must have been said. There is no limit while the
 * node is uncontested or in the contest's first window. Then it must be younger than the contest: observers that fell silent
 * together with the node must not keep it alive. After a condemnation no older record, the node's own included, is a sign
 * that it came back.
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

/** A node that is heard and whose kubelet is not bad has one vote for itself, as in SuperEdge, where each node probes itself. */
const speaksForItself = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  sinceAt: number,
): boolean =>
  judgement.standing[target] === STANDING.counts &&
  evidence.producedAt[target]! >= sinceAt &&
  (evidence.flags[target]! & FLAG.kubeletBad) === 0

/** A zone of one has no observers: the node's report about itself is the only vote; "unknown" is not a vote. */
const countAlone = (judgement: Judgement, evidence: Evidence): void => {
  const flags = judgement.standing[0] === STANDING.counts ? evidence.flags[0]! : 0
  judgement.down[0] = (flags & FLAG.kubeletBad) !== 0 ? 1 : 0
  judgement.up[0] = (flags & FLAG.kubeletWell) !== 0 ? 1 - judgement.down[0] : 0
  judgement.ownWord[0] = 0
}

/** Count the votes about all members. Only members of the roster have a column, so that strangers cannot vote. */
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
