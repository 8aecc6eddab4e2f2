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

/** What the judge takes into account beside the evidence. */
export interface JudgeContext {
  /** Matters in a zone of two only. */
  readonly witness: WitnessAnswer
  /** Whether the cluster shows a member as marked: marks from before this agent's time count for the brake. */
  readonly isMarked: IsMarked
}

/** What one judging changed. */
export interface Changes {
  /** Members whose local view changed. */
  readonly local: readonly number[]
  /** Members whose final verdict changed. */
  readonly verdict: readonly number[]
  /** Whether self-suspicion, correlated failure, brake, disruption, voice, witness or some node's class changed. */
  readonly state: boolean
  /** The earliest `Clock.now` at which time alone may change something; +Infinity if none. */
  readonly nextAt: number
  /** Whether something began so recently that records should travel faster than usual. */
  readonly burst: boolean
  /** Whether all is well, so that evidence that only became younger need not be judged. */
  readonly steady: boolean
}

const gist = (judgement: Judgement): string =>
  [
    judgement.selfSuspect,
    judgement.correlatedFailure,
    judgement.brake,
    judgement.disruption,
    judgement.voice,
    judgement.witness,
  ].join()

const isRecent = (deadline: NextDeadline, beganAt: number, windowMs: number): boolean => {
  noteDeadline(deadline, beganAt + windowMs)
  return deadline.now < beganAt + windowMs && deadline.now >= beganAt
}

/**
 * Urgent: a contest, a correlated failure, a condemnation or a return from one, if it began within the last window. A node
 * that has been dead for longer is no longer urgent.
 */
const isUrgent = (judgement: Judgement, deadline: NextDeadline): boolean => {
  const { options } = deadline
  let urgent = isRecent(deadline, judgement.correlatedFailureAt, options.reaffirmWindowMs)
  const settleMs = Math.max(options.reaffirmWindowMs, options.writeHoldMs)
  for (let target = 0; target < judgement.size; target++) {
    if (isRecent(deadline, judgement.contestAt[target]!, options.reaffirmWindowMs)) urgent = true
    const isTurn =
      judgement.pending[target] === VERDICT.unhealthy ||
      judgement.verdict[target] === VERDICT.unhealthy
    if (isTurn && isRecent(deadline, judgement.pendingAt[target]!, settleMs)) urgent = true
  }
  return urgent
}

/**
 * Judge all members by the evidence at `now`, which must not go back. Deterministic; updates the judgement in place and
 * nothing else. Costs O(votes), so that it may run after every message. A second call at the same instant changes nothing.
 */
export const judge = (
  judgement: Judgement,
  evidence: Evidence,
  now: number,
  { options, context }: { readonly options: VoteOptions; readonly context: JudgeContext },
): Changes => {
  const before = gist(judgement)
  const deadline = makeNextDeadline({ now, options })
  judgement.witness = witnessVote(options, evidence.size, context.witness)
  reviewCorrelatedFailure(judgement, evidence, deadline)
  reviewStandings(judgement, evidence, deadline)
  judgement.selfSuspect = suspectsItself(judgement, evidence)
  reviewOwnStanding(judgement, evidence, deadline)
  countVotes(judgement, evidence, deadline)
  const local = reviewLocalView(judgement, evidence, now)
  const verdict = reviewVerdicts(judgement, evidence, { deadline, isMarked: context.isMarked })
  const classMoved = reviewClasses(judgement, evidence, deadline)
  judgement.disruption = disruptionOf(judgement, evidence, options)
  const burst = isUrgent(judgement, deadline)
  const state = classMoved || before !== gist(judgement)
  return {
    local,
    verdict,
    state,
    nextAt: deadline.nextAt,
    burst,
    steady: isSteady(judgement, evidence),
  }
}
