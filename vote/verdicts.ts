// SPDX-License-Identifier: Apache-2.0
import { FLAG, type Evidence } from './evidence.js'
import { noteDeadline, type NextDeadline } from './next-deadline.js'
import { dropPending, type Judgement } from './judgement.js'
import { majoritySpokeAt, rulingOf, voiceOf } from './majority.js'
import type { Moment } from './moment.js'
import type { VoteOptions } from './options.js'
import { VERDICT, type VerdictCode } from './quorum.js'

/** When the time of grace ends of a node that announced that it leaves; −Infinity for others. */
export const graceEndsAt = (e: Evidence, target: number, o: VoteOptions): number =>
  (e.flags[target]! & FLAG.leaving) !== 0 ? e.producedAt[target]! + o.leaveGraceMs : -Infinity

const wantedOf = (j: Judgement, e: Evidence, target: number, at: Occasion): VerdictCode => {
  const ruling = rulingOf(j, e, target)
  if (ruling === j.verdict[target]) return VERDICT.undecided
  if (ruling !== VERDICT.unhealthy) return ruling
  const graceAt = graceEndsAt(e, target, at.deadline.options)
  noteDeadline(at.deadline, graceAt)
  return at.deadline.now < graceAt ? VERDICT.undecided : ruling
}

/** Begin, keep or drop the pending verdict about one node, and note when a majority stood behind it. */
const reviewPending = (j: Judgement, e: Evidence, target: number, at: Occasion): void => {
  const wanted = wantedOf(j, e, target, at)
  if (wanted !== j.pending[target]) {
    dropPending(j, target)
    j.pending[target] = wanted
    if (wanted !== VERDICT.undecided) j.pendingAt[target] = at.deadline.now
  }
  // The majority's instant is asked for only while somebody waits for it: mostly nobody does.
  const isWaiting = j.pending[target] !== VERDICT.undecided && j.backedAt[target] === Infinity
  if (isWaiting && at.majorityAt() > j.pendingAt[target]!) j.backedAt[target] = at.deadline.now
  noteDeadline(at.deadline, j.backedAt[target]! + at.deadline.options.writeHoldMs)
}

/** What one review of the verdicts works with. */
interface Occasion {
  readonly deadline: NextDeadline
  readonly majorityAt: () => number
  readonly changed: number[]
}

/** Whether votes, component quorum and hold are all there. */
export const isHeld = (j: Judgement, target: number, { now, options }: Moment): boolean =>
  now >= j.backedAt[target]! + options.writeHoldMs

const finalise = (j: Judgement, wanted: VerdictCode, at: Occasion): void => {
  const { now } = at.deadline
  for (let target = 0; target < j.size; target++) {
    if (j.pending[target] !== wanted || !isHeld(j, target, at.deadline)) continue
    j.verdict[target] = wanted
    j.verdictAt[target] = now
    dropPending(j, target)
    at.changed.push(target)
  }
}

/** At least one node may be condemned, or a small zone could never do its work. */
export const brakeLimit = (size: number, o: VoteOptions): number =>
  Math.max(1, Math.floor(o.brakeShare * size))

/** Whether the node is condemned, or the votes to condemn it stand. */
export const isCondemned = (j: Judgement, target: number): boolean =>
  j.verdict[target] === VERDICT.unhealthy || j.pending[target] === VERDICT.unhealthy

/** Whether the cluster shows a member marked as unhealthy, as last seen. */
export type IsMarked = (member: number) => boolean

/** Whom the zone marked before this agent knew, and whose mark its own votes neither ask for nor take off. */
const isHeldDead = (j: Judgement, target: number): boolean =>
  j.verdict[target] === VERDICT.undecided && j.pending[target] === VERDICT.undecided

const countDead = (j: Judgement, isMarked: IsMarked): number => {
  let dead = 0
  for (let target = 0; target < j.size; target++)
    if (isCondemned(j, target) || (isHeldDead(j, target) && isMarked(target))) dead++
  return dead
}

/**
 * An agent without a voice decides nothing and remembers no verdict: while it was out, the majority may have decided
 * otherwise, and what it once knew must be earned again. What stands in the cluster stays as it is.
 */
const keepSilent = (j: Judgement): number[] => {
  const changed: number[] = []
  for (let target = 0; target < j.size; target++) {
    dropPending(j, target)
    if (j.verdict[target] === VERDICT.undecided) continue
    j.verdict[target] = VERDICT.undecided
    j.verdictAt[target] = Infinity
    changed.push(target)
  }
  j.dead = 0
  j.brake = false
  return changed
}

/**
 * The brake lets go because some came back: the others may be about to. What they were held for begins anew, or the
 * end of an outage would condemn whoever is last to return.
 */
const holdAnew = (j: Judgement, now: number): void => {
  for (let target = 0; target < j.size; target++) {
    if (j.pending[target] !== VERDICT.unhealthy) continue
    j.pendingAt[target] = now
    j.backedAt[target] = Infinity
  }
}

/**
 * Settle the verdicts; returns the members whose verdict moved. Clearing comes first and knows no brake. The brake is
 * applied to all that look dead or are marked together, not one after the other, so that the first few of a disaster are not
 * condemned merely because they came first.
 */
export const reviewVerdicts = (
  j: Judgement,
  e: Evidence,
  { deadline, isMarked }: { readonly deadline: NextDeadline; readonly isMarked: IsMarked },
): number[] => {
  j.voice = voiceOf(j, e)
  if (j.voice !== 'full') return keepSilent(j)
  let known: number | undefined
  const majorityAt = (): number => (known ??= majoritySpokeAt(j, e))
  const at: Occasion = { deadline, majorityAt, changed: [] }
  for (let target = 0; target < e.size; target++) reviewPending(j, e, target, at)
  finalise(j, VERDICT.healthy, at)
  j.dead = countDead(j, isMarked)
  const wasBraked = j.brake
  j.brake = j.dead > brakeLimit(e.size, deadline.options)
  if (wasBraked && !j.brake) holdAnew(j, deadline.now)
  if (!j.brake) finalise(j, VERDICT.unhealthy, at)
  return at.changed
}
