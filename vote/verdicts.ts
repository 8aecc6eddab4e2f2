// SPDX-License-Identifier: Apache-2.0
import { FLAG, type Evidence } from './evidence.js'
import { noteDeadline, type NextDeadline } from './next-deadline.js'
import { dropPending, type Judgement } from './judgement.js'
import { majoritySpokeAt, rulingOf, voiceOf } from './majority.js'
import type { Moment } from './moment.js'
import type { VoteOptions } from './options.js'
import { VERDICT, type VerdictCode } from './quorum.js'

/** When the time of grace ends of a node that announced that it leaves; −Infinity for others. */
export const graceEndsAt = (evidence: Evidence, target: number, options: VoteOptions): number =>
  (evidence.flags[target]! & FLAG.leaving) !== 0
    ? evidence.producedAt[target]! + options.leaveGraceMs
    : -Infinity

const wantedOf = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  at: Occasion,
): VerdictCode => {
  const ruling = rulingOf(judgement, evidence, target)
  if (ruling === judgement.verdict[target]) return VERDICT.undecided
  if (ruling !== VERDICT.unhealthy) return ruling
  const graceAt = graceEndsAt(evidence, target, at.deadline.options)
  noteDeadline(at.deadline, graceAt)
  return at.deadline.now < graceAt ? VERDICT.undecided : ruling
}

/** Begin, keep or drop the pending verdict about one node, and note when a majority stood behind it. */
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
  // The majority's instant is asked for only while somebody waits for it: mostly nobody does.
  const isWaiting =
    judgement.pending[target] !== VERDICT.undecided && judgement.backedAt[target] === Infinity
  if (isWaiting && at.majorityAt() > judgement.pendingAt[target]!)
    judgement.backedAt[target] = at.deadline.now
  noteDeadline(at.deadline, judgement.backedAt[target]! + at.deadline.options.writeHoldMs)
}

/** What one review of the verdicts works with. */
interface Occasion {
  readonly deadline: NextDeadline
  readonly majorityAt: () => number
  readonly changed: number[]
}

/** Whether votes, component quorum and hold are all there. */
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

/** At least one node may be condemned, or a small zone could never do its work. */
export const brakeLimit = (size: number, options: VoteOptions): number =>
  Math.max(1, Math.floor(options.brakeShare * size))

/** Whether the node is condemned, or the votes to condemn it stand. */
export const isCondemned = (judgement: Judgement, target: number): boolean =>
  judgement.verdict[target] === VERDICT.unhealthy || judgement.pending[target] === VERDICT.unhealthy

/** Whether the cluster shows a member marked as unhealthy, as last seen. */
export type IsMarked = (member: number) => boolean

/** Whom the zone marked before this agent knew, and whose mark its own votes neither ask for nor take off. */
const isHeldDead = (judgement: Judgement, target: number): boolean =>
  judgement.verdict[target] === VERDICT.undecided && judgement.pending[target] === VERDICT.undecided

const countDead = (judgement: Judgement, self: number, isMarked: IsMarked): number => {
  let dead = 0
  for (let target = 0; target < judgement.size; target++) {
    // A mark of the own node is another's to take off; who judges is not dead.
    const isHeld = target !== self && isHeldDead(judgement, target) && isMarked(target)
    if (isCondemned(judgement, target) || isHeld) dead++
  }
  return dead
}

/**
 * An agent without a voice decides nothing and remembers no verdict: while it was out, the majority may have decided
 * otherwise, and what it once knew must be earned again. What stands in the cluster stays as it is.
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
 * The brake lets go because some came back: the others may be about to. What they were held for begins anew, or the
 * end of an outage would condemn whoever is last to return.
 */
const holdAnew = (judgement: Judgement, now: number): void => {
  for (let target = 0; target < judgement.size; target++) {
    if (judgement.pending[target] !== VERDICT.unhealthy) continue
    judgement.pendingAt[target] = now
    judgement.backedAt[target] = Infinity
  }
}

/**
 * Settle the verdicts; returns the members whose verdict moved. Clearing comes first and knows no brake. The brake is
 * applied to all that look dead or are marked together, not one after the other, so that the first few of a disaster are not
 * condemned merely because they came first.
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
