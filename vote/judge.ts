// SPDX-License-Identifier: Apache-2.0
import { disruptionOf, reviewClasses } from './classify.js'
import { reviewVerdicts, type IsMarked } from './verdicts.js'
import type { Evidence } from './evidence.js'
import { noteDeadline, makeNextDeadline, type NextDeadline } from './next-deadline.js'
import type { Judgement } from './judgement.js'
import { reviewLocalView } from './local-view.js'
import { reviewCorrelatedFailure } from './correlated-failure.js'
import type { VoteOptions } from './options.js'
import { VERDICT } from './quorum.js'
import { suspectsItself } from './self-suspect.js'
import { countVotes, reviewOwnStanding, reviewStandings } from './tally.js'
import { isSteady } from './steady.js'
import { witnessVote, type WitnessAnswer } from './witness.js'

/** What the judge is told beside the evidence. */
export interface JudgeContext {
  /** Matters in a zone of two only. */
  readonly witness: WitnessAnswer
  /** What was marked before this agent knew counts for the brake. */
  readonly isMarked: IsMarked
}

/** What one judging moved. */
export interface Changes {
  /** Members whose local view moved. */
  readonly local: readonly number[]
  /** Members whose final verdict moved. */
  readonly verdict: readonly number[]
  /** Self-suspicion, correlated failure, brake, disruption, voice, witness or some node's class moved. */
  readonly state: boolean
  /** The earliest `Clock.now` at which time alone may change something; +Infinity if none. */
  readonly nextAt: number
  /** Something began so recently that records should travel faster than usual. */
  readonly burst: boolean
  /** All is well: evidence that only became younger need not be judged. */
  readonly steady: boolean
}

const gist = (j: Judgement): string =>
  [j.selfSuspect, j.correlatedFailure, j.brake, j.disruption, j.voice, j.witness].join()

const isRecent = (deadline: NextDeadline, beganAt: number, windowMs: number): boolean => {
  noteDeadline(deadline, beganAt + windowMs)
  return deadline.now < beganAt + windowMs && deadline.now >= beganAt
}

/**
 * Haste has a cause and ends: a contest, correlated failure, a condemnation or the way back from one that began within the
 * last window. A node that is known to be dead is no longer urgent.
 */
const isUrgent = (j: Judgement, deadline: NextDeadline): boolean => {
  const { options } = deadline
  let urgent = isRecent(deadline, j.correlatedFailureAt, options.reaffirmWindowMs)
  const settleMs = Math.max(options.reaffirmWindowMs, options.writeHoldMs)
  for (let target = 0; target < j.size; target++) {
    if (isRecent(deadline, j.contestAt[target]!, options.reaffirmWindowMs)) urgent = true
    const isTurn =
      j.pending[target] === VERDICT.unhealthy || j.verdict[target] === VERDICT.unhealthy
    if (isTurn && isRecent(deadline, j.pendingAt[target]!, settleMs)) urgent = true
  }
  return urgent
}

/**
 * Judge everybody by the evidence as it stands at `now`. Pure but for `j`, which it updates in place; deterministic;
 * O(votes), so that it may run after every message. Judging twice at the same instant changes nothing the second
 * time. `now` must not go back.
 */
export const judge = (
  j: Judgement,
  e: Evidence,
  now: number,
  { o, context }: { readonly o: VoteOptions; readonly context: JudgeContext },
): Changes => {
  const before = gist(j)
  const deadline = makeNextDeadline({ now, options: o })
  j.witness = witnessVote(o, e.size, context.witness)
  reviewCorrelatedFailure(j, e, deadline)
  reviewStandings(j, e, deadline)
  j.selfSuspect = suspectsItself(j, e)
  reviewOwnStanding(j, e, deadline)
  countVotes(j, e, deadline)
  const local = reviewLocalView(j, e, now)
  const verdict = reviewVerdicts(j, e, { deadline, isMarked: context.isMarked })
  const classMoved = reviewClasses(j, e, deadline)
  j.disruption = disruptionOf(j, e, o)
  const burst = isUrgent(j, deadline)
  const state = classMoved || before !== gist(j)
  return { local, verdict, state, nextAt: deadline.nextAt, burst, steady: isSteady(j, e) }
}
