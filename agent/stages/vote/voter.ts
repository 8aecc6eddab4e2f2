// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { judge } from '../../../vote/judge.js'
import { reviewVouching } from '../../../vote/vouch.js'
import type { WitnessAnswer } from '../../../vote/witness.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'

interface VoterSeams {
  readonly store: ResultStore
  readonly clock: Clock
  readonly witness: () => WitnessAnswer
  /** Called at the time at which time alone changes something. */
  readonly onDue: () => void
}

/** Decides; what it decides is written by another stage. */
export interface Voter {
  /** Decide by what is known now. */
  vote(): void
  /** Records were renewed without a change. A steady zone then needs no new vote. */
  refreshed(): void
  /** The last vote found that all is well, of the zone as it is now. */
  readonly isSteady: boolean
  /** How the zone stands, in words. */
  describe(): string
  stop(): void
}

const describe = ({ judgement, table }: ZoneState): string => {
  const down = judgement.localUp.reduce((sum, up) => sum + 1 - up, 0)
  const voice = judgement.voice === 'full' ? '' : `; this agent decides nothing: ${judgement.voice}`
  const brake = judgement.brake ? '; the brake holds' : ''
  return `${table.size} nodes, ${down} down from here, ${judgement.dead} condemned${brake}${voice}`
}

/** The table's votes → local view, verdicts, vouching. */
export const makeVoter = (options: AgentOptions, seams: VoterSeams): Voter => {
  const { store, clock } = seams
  let cancel: () => void = () => undefined
  let isStopped = false
  /** The state of the zone in which the last vote found that all is well. */
  let steady: ZoneState | undefined

  const vote = (): void => {
    const state = store.zone.current
    if (state === undefined || isStopped) return
    cancel()
    const { judgement, table, vouching, roster } = state
    const now = clock.now()
    const { marked } = store
    const isMarked = (member: number): boolean => marked.current.has(roster.members[member]!.name)
    const context = { witness: seams.witness(), isMarked }
    const changes = judge(judgement, table, now, { options, context })
    steady = changes.steady ? state : undefined
    const vouch = reviewVouching(vouching, judgement, table, { now, options })
    const nextAt = Math.min(changes.nextAt, vouch.nextAt)
    if (nextAt < Infinity) cancel = clock.after(Math.max(1, nextAt - now), seams.onDue)
    for (const { index, why } of vouch.ended)
      store.endedVouch.emit({ node: roster.members[index]!.name, why })
    store.vote.emit({ state, changes, vouchMoved: vouch.begun.length + vouch.ended.length > 0 })
  }
  const isSteady = (): boolean => steady !== undefined && steady === store.zone.current
  return {
    vote,
    get isSteady() {
      return isSteady()
    },
    refreshed: () => {
      if (!isSteady()) vote()
    },
    describe: () => {
      const state = store.zone.current
      return state === undefined ? 'nothing to vote on yet' : describe(state)
    },
    stop: () => {
      isStopped = true
      cancel()
    },
  }
}
