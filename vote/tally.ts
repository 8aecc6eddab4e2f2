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
export const isFresh = (j: Judgement, member: number): boolean =>
  j.standing[member]! <= STANDING.leaving

/**
 * Freshness is the age of what is said, not when it arrived: a message that took a minute to get here is a minute
 * old. The own record has no privilege. The own node's suspicion of itself is taken from the judgement, where it is
 * known first.
 */
const standingOf = (j: Judgement, e: Evidence, member: number, frame: Frame): number => {
  const producedAt = e.producedAt[member]!
  if (producedAt === -Infinity) return STANDING.unheard
  if (frame.now >= producedAt + frame.ttlMs) return STANDING.gone
  if (producedAt < frame.sinceAt) return STANDING.silentSinceFailure
  const flags = e.flags[member]!
  const isSuspect = member === e.self ? j.selfSuspect : (flags & FLAG.selfSuspect) !== 0
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

const frameOf = (j: Judgement, { now, options }: Moment): Frame => ({
  now,
  ttlMs: options.recordTtlMs,
  sinceAt:
    now >= j.correlatedFailureAt + options.reaffirmWindowMs ? j.correlatedFailureAt : -Infinity,
})

/** Settle the standing of everybody. */
export const reviewStandings = (j: Judgement, e: Evidence, deadline: NextDeadline): void => {
  const frame = frameOf(j, deadline)
  for (let member = 0; member < e.size; member++) {
    j.standing[member] = standingOf(j, e, member, frame)
    noteDeadline(deadline, e.producedAt[member]! + deadline.options.recordTtlMs)
  }
}

/** Settle the own standing again after self-suspicion starts or ends. */
export const reviewOwnStanding = (j: Judgement, e: Evidence, at: Moment): void => {
  j.standing[e.self] = standingOf(j, e, e.self, frameOf(j, at))
}

/**
 * The instant since which an "up" about the node must have been said in order to count. Nothing is asked of it while
 * the node is uncontested or in the contest's first window; then it must be younger than the contest: who went
 * silent together with the node must not keep it alive. Once it is condemned, what was said before, its own last word
 * too, is no sign that it came back.
 */
export const upsCountSince = (j: Judgement, target: number, { now, options }: Moment): number => {
  const contestAt = j.contestAt[target]!
  const contestedAt = now >= contestAt + options.reaffirmWindowMs ? contestAt : -Infinity
  const isCondemned = j.verdict[target] === VERDICT.unhealthy
  return isCondemned ? Math.max(contestedAt, j.verdictAt[target]!) : contestedAt
}

const countAbout = (j: Judgement, e: Evidence, target: number, sinceAt: number): void => {
  const observers = e.observersOf(target)
  const { length } = observers
  const isQuiet = e.downVotes[target] === 0
  let up = 0
  let down = 0
  for (let i = 0; i < length; i++) {
    const observer = observers[i]!
    if (j.standing[observer] !== STANDING.counts) continue
    if (!isQuiet && e.saysDown(observer, target)) down++
    else if (e.producedAt[observer]! >= sinceAt && e.hasLooked(observer, target)) up++
  }
  j.up[target] = up
  j.down[target] = down
}

/** A node that speaks and whose kubelet is not bad is one voice for itself, as in SuperEdge, where all probe themselves. */
const speaksForItself = (j: Judgement, e: Evidence, target: number, sinceAt: number): boolean =>
  j.standing[target] === STANDING.counts &&
  e.producedAt[target]! >= sinceAt &&
  (e.flags[target]! & FLAG.kubeletBad) === 0

/** A zone of one has no observers: its own self-report is the only vote, and "unknown" is none. */
const countAlone = (j: Judgement, e: Evidence): void => {
  const flags = j.standing[0] === STANDING.counts ? e.flags[0]! : 0
  j.down[0] = (flags & FLAG.kubeletBad) !== 0 ? 1 : 0
  j.up[0] = (flags & FLAG.kubeletWell) !== 0 ? 1 - j.down[0] : 0
  j.ownWord[0] = 0
}

/** Count the votes about everybody. Only roster members have a column, so that strangers cannot vote. */
export const countVotes = (j: Judgement, e: Evidence, at: Moment): void => {
  if (e.size === 1) {
    countAlone(j, e)
    return
  }
  for (let target = 0; target < e.size; target++) {
    const sinceAt = upsCountSince(j, target, at)
    countAbout(j, e, target, sinceAt)
    j.ownWord[target] = speaksForItself(j, e, target, sinceAt) ? 1 : 0
  }
}
