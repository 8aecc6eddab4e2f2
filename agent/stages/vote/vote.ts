// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { judge, type Changes } from '../../../vote/judge.js'
import { reviewVouching, type VouchEnd } from '../../../vote/vouch.js'
import type { WitnessAnswer } from '../../../vote/witness.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ResultStore, ZoneState } from '../../store.js'

/** What one vote moved. */
export interface VoteOutcome {
  readonly state: ZoneState
  readonly changes: Changes
  /** Members whose vouching ended, by roster index. */
  readonly vouchEnded: readonly { readonly index: number; readonly why: VouchEnd }[]
  /** Vouching began or ended for somebody. */
  readonly vouchMoved: boolean
}

interface VoteSeams {
  readonly store: ResultStore
  readonly clock: Clock
  readonly witness: () => WitnessAnswer
  /** The time has come at which time alone changes something. */
  readonly onDue: () => void
  /** Told after each vote, whatever it moved. */
  readonly onVote: (outcome: VoteOutcome) => void
}

/** The stage that decides; what it decides is written by the writer. */
export interface VoteStage {
  /** Decide by what is known now. */
  vote(): void
  /** Records became younger and say what they said before. A steady zone has no use for another vote then. */
  refreshed(): void
  /** The same, as a round; says in words how the zone stands. */
  round(): string
  stop(): void
}

const describe = ({ judgement: j, table }: ZoneState): string => {
  const down = j.localUp.reduce((sum, up) => sum + 1 - up, 0)
  const voice = j.voice === 'full' ? '' : `; this agent decides nothing: ${j.voice}`
  const brake = j.brake ? '; the brake holds' : ''
  return `${table.size} nodes, ${down} down from here, ${j.dead} condemned${brake}${voice}`
}

/** Votes that follow each other at one instant; more would be a quarrel with ourselves. */
const MOST_VOTES = 4

/** *Vote*: the table's votes → local view, verdicts, vouching. */
export const makeVoteStage = (options: AgentOptions, seams: VoteSeams): VoteStage => {
  const { store, clock } = seams
  let cancel: () => void = () => undefined
  let isStopped = false
  let isVoting = false
  let isDue = false
  /** Of which zone the last vote found that all is well. */
  let steady: ZoneState | undefined

  const voteOnce = (state: ZoneState): void => {
    cancel()
    const { judgement, table, vouching } = state
    const now = clock.now()
    const changes = judge(judgement, table, now, {
      o: options,
      context: { witness: seams.witness() },
    })
    steady = changes.steady ? state : undefined
    const vouch = reviewVouching(vouching, judgement, table, { now, options })
    const nextAt = Math.min(changes.nextAt, vouch.nextAt)
    if (nextAt < Infinity) cancel = clock.after(Math.max(1, nextAt - now), seams.onDue)
    const vouchMoved = vouch.begun.length + vouch.ended.length > 0
    seams.onVote({ state, changes, vouchEnded: vouch.ended, vouchMoved })
  }
  /** What a vote moves may be evidence again: then another vote follows it, and is not nested in it. */
  const vote = (): void => {
    isDue = true
    if (isVoting) return
    isVoting = true
    try {
      for (let votes = 0; isDue && votes < MOST_VOTES; votes++) {
        isDue = false
        const state = store.zone.current
        if (state !== undefined && !isStopped) voteOnce(state)
      }
    } finally {
      isVoting = false
    }
  }
  return {
    vote,
    refreshed: () => {
      if (steady === undefined || steady !== store.zone.current) vote()
    },
    round: () => {
      vote()
      const state = store.zone.current
      return state === undefined ? 'nothing to vote on yet' : describe(state)
    },
    stop: () => {
      isStopped = true
      cancel()
    },
  }
}
