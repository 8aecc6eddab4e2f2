// SPDX-License-Identifier: Apache-2.0
import { FLAG, type Evidence } from './evidence.js'
import { noteDeadline, type NextDeadline } from './next-deadline.js'
import { dropPending, type Judgement } from './judgement.js'
import { majoritySpokeAt, rulingOf, voiceOf } from './majority.js'
import type { Moment } from './moment.js'
import type { VoteOptions } from './options.js'
import { VERDICT, type VerdictCode } from './quorum.js'

/**
 * When the grace of a node that announced that it leaves began; −Infinity for others. A node that goes on announcing it is
 * not spared for ever: after a grace comes a time without one, long enough to condemn it, since members that are heard
 * speak within `recordTtlMs`.
 */
const graceStartOf = (
  { graceBeganAt }: Judgement,
  { flags, producedAt }: Evidence,
  target: number,
  { leaveGraceMs, recordTtlMs, writeHoldMs }: VoteOptions,
): number => {
  if ((flags[target]! & FLAG.leaving) === 0) return -Infinity
  const notBefore = graceBeganAt[target]! + leaveGraceMs + recordTtlMs + writeHoldMs
  const isNew = producedAt[target]! >= notBefore
  return isNew ? producedAt[target]! : graceBeganAt[target]!
}

/** Until when a node that announced that it leaves is not condemned; −Infinity for others. */
export const graceEndsAt = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  options: VoteOptions,
): number => graceStartOf(judgement, evidence, target, options) + options.leaveGraceMs

const wantedOf = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  at: Occasion,
): VerdictCode => {
  const ruling = rulingOf(judgement, evidence, target)
  if (ruling === judgement.verdict[target]) return VERDICT.undecided
  if (ruling !== VERDICT.unhealthy) return ruling
  const { options } = at.deadline
  const startsAt = graceStartOf(judgement, evidence, target, options)
  judgement.graceBeganAt[target] = Math.max(judgement.graceBeganAt[target]!, startsAt)
  const graceAt = graceEndsAt(judgement, evidence, target, options)
  noteDeadline(at.deadline, graceAt)
  return at.deadline.now < graceAt ? VERDICT.undecided : ruling
}

/** Begin, keep or drop the pending verdict about one node, and note when it got its component quorum. */
const reviewPending = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  at: Occasion,
): void => {
  const wanted = wantedOf(judgement, evidence, target, at)
  if (wanted !== judgement.pending[target]) {
    dropPending(judgement, target)
    judgement.pending[target] = wanted
    if (wanted !== VERDICT.undecided) judgement.pendingAt[target] = at.deadline.now
  }
  // Computing when a majority spoke is costly, so it is done only while a verdict waits for it.
  const isWaiting =
    judgement.pending[target] !== VERDICT.undecided && judgement.backedAt[target] === Infinity
  if (isWaiting && at.majorityAt() > judgement.pendingAt[target]!)
    judgement.backedAt[target] = at.deadline.now
  noteDeadline(at.deadline, judgement.backedAt[target]! + at.deadline.options.writeHoldMs)
}

/** The inputs of one review of the verdicts. */
interface Occasion {
  readonly deadline: NextDeadline
  readonly majorityAt: () => number
  readonly changed: number[]
}

/** Whether the verdict has votes and component quorum, and its hold is over. */
export const isHeld = (judgement: Judgement, target: number, { now, options }: Moment): boolean =>
  now >= judgement.backedAt[target]! + options.writeHoldMs

const finalise = (judgement: Judgement, wanted: VerdictCode, at: Occasion): void => {
  const { now } = at.deadline
  for (let target = 0; target < judgement.size; target++) {
    if (judgement.pending[target] !== wanted || !isHeld(judgement, target, at.deadline)) continue
    judgement.verdict[target] = wanted
    judgement.verdictAt[target] = now
    dropPending(judgement, target)
    at.changed.push(target)
  }
}

/** How many nodes may be condemned: at least one, or small zones could condemn none. */
export const brakeLimit = (size: number, options: VoteOptions): number =>
  Math.max(1, Math.floor(options.brakeShare * size))

/** Whether the node is condemned, or the votes ask for it. */
export const isCondemned = (judgement: Judgement, target: number): boolean =>
  judgement.verdict[target] === VERDICT.unhealthy || judgement.pending[target] === VERDICT.unhealthy

/** Whether the cluster shows a member marked as unhealthy, as last seen. */
export type IsMarked = (member: number) => boolean

/** Whether the node's mark is from before this agent's time, and the present votes neither ask for it nor for its removal. */
const isHeldDead = (judgement: Judgement, target: number): boolean =>
  judgement.verdict[target] === VERDICT.undecided && judgement.pending[target] === VERDICT.undecided

const countDead = (judgement: Judgement, self: number, isMarked: IsMarked): number => {
  let dead = 0
  for (let target = 0; target < judgement.size; target++) {
    // The own node does not count: an agent that judges is not dead. Others take its mark off.
    const isHeld = target !== self && isHeldDead(judgement, target) && isMarked(target)
    if (isCondemned(judgement, target) || isHeld) dead++
  }
  return dead
}

/**
 * An agent that may not decide forgets its verdicts: meanwhile the majority may have decided otherwise, so it has to reach them
 * anew. The marks in the cluster stay as they are.
 */
const keepSilent = (judgement: Judgement): number[] => {
  const changed: number[] = []
  for (let target = 0; target < judgement.size; target++) {
    dropPending(judgement, target)
    if (judgement.verdict[target] === VERDICT.undecided) continue
    judgement.verdict[target] = VERDICT.undecided
    judgement.verdictAt[target] = Infinity
    changed.push(target)
  }
  judgement.dead = 0
  judgement.brake = false
  return changed
}

/**
 * The brake let go because some nodes came back, so the others may soon come back too. Their holds begin anew; otherwise
 * the end of an outage would condemn the last ones to return.
 */
const holdAnew = (judgement: Judgement, now: number): void => {
  for (let target = 0; target < judgement.size; target++) {
    if (judgement.pending[target] !== VERDICT.unhealthy) continue
    judgement.pendingAt[target] = now
    judgement.backedAt[target] = Infinity
  }
}

/**
 * Update the verdicts. The brake does not apply to clearing, which comes first. It is applied to all nodes that look dead or
 * are marked together, not one after the other: the first few of a disaster must not be condemned just for being first.
 * @returns the members whose verdict changed
 */
export const reviewVerdicts = (
  judgement: Judgement,
  evidence: Evidence,
  { deadline, isMarked }: { readonly deadline: NextDeadline; readonly isMarked: IsMarked },
): number[] => {
  judgement.voice = voiceOf(judgement, evidence)
  if (judgement.voice !== 'full') return keepSilent(judgement)
  let known: number | undefined
  const majorityAt = (): number => (known ??= majoritySpokeAt(judgement, evidence))
  const at: Occasion = { deadline, majorityAt, changed: [] }
  for (let target = 0; target < evidence.size; target++)
    reviewPending(judgement, evidence, target, at)
  finalise(judgement, VERDICT.healthy, at)
  judgement.dead = countDead(judgement, evidence.self, isMarked)
  const wasBraked = judgement.brake
  judgement.brake = judgement.dead > brakeLimit(evidence.size, deadline.options)
  if (wasBraked && !judgement.brake) holdAnew(judgement, deadline.now)
  if (!judgement.brake) finalise(judgement, VERDICT.unhealthy, at)
  return at.changed
}
