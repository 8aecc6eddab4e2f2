// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Dial, HttpGet } from '../../../core/dial.js'
import type { Logger } from '../../../core/log.js'
import { makeJudgement, remapJudgement } from '../../../vote/judgement.js'
import { makeVouching, remapVouching } from '../../../vote/vouch.js'
import { WriterRanking } from '../../../vote/writer-ranking.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { VoteOutcome, ZoneRecords } from '../../results.js'
import type { ResultStore } from '../../store.js'
import type { TurnLoop } from '../../turn-loop.js'
import { makeStageRunner } from '../runner.js'
import type { ScheduledStage } from '../stage.js'
import { makeVoter, type Voter } from './voter.js'
import { Witness } from './witness.js'

interface VoteSeams {
  readonly clock: Clock
  readonly log: Logger
  readonly store: ResultStore
  readonly kube: Pick<KubeApi, 'getLease'>
  readonly probes: { readonly dial: Dial; readonly http: HttpGet }
  readonly apiBackoff: ApiBackoff
  readonly turns: TurnLoop
}

/** The stage that decides. */
export interface VoteStage extends ScheduledStage, Pick<Voter, 'vote' | 'refreshed' | 'isSteady'> {}

/** Another roster: the judgements about members that stay are kept. */
const takeRecords = ({ roster, table }: ZoneRecords, store: ResultStore): void => {
  const { zone, endedVouch } = store
  const size = roster.members.length
  const last = zone.current
  let judgement = makeJudgement(size)
  let vouching = makeVouching(size)
  if (last !== undefined) {
    const oldIndexOf = Int32Array.from(
      roster.members,
      member => last.roster.indexOf(member.name) ?? -1,
    )
    const next = remapVouching(last.vouching, oldIndexOf)
    for (const index of next.left)
      endedVouch.emit({ node: last.roster.members[index]!.name, why: 'roster-left' })
    judgement = remapJudgement(last.judgement, oldIndexOf)
    vouching = next.vouching
  }
  const ids = roster.members.map(({ id }) => id)
  const ranking = new WriterRanking(ids, roster.self)
  zone.set(Object.freeze({ roster, table, judgement, vouching, ranking }))
}

/** Only a zone of two has a witness, and it is asked only while the two do not reach each other. */
const witnessIsAskedAbout = ({ state: { table, roster } }: VoteOutcome): string | undefined => {
  const peer = table.size === 2 ? 1 - table.self : -1
  const isLost = peer >= 0 && table.saysDown(table.self, peer)
  return isLost ? roster.members[peer]!.name : undefined
}

/** *Vote*: the records' votes → local view, verdicts, vouching. */
export const makeVoteStage = (options: AgentOptions, seams: VoteSeams): VoteStage => {
  const { store, clock, turns, kube, apiBackoff } = seams
  const askTurn = (): void => turns.ask('changed')
  const witness = new Witness(options, {
    ...{ clock, apiBackoff, dial: seams.probes.dial, http: seams.probes.http },
    getLease: (node, signal) => kube.getLease(node, signal),
    isOurRenewal: (node, renewTime) => store.renewals.current.get(node) === renewTime,
    onChange: askTurn,
  })
  const voter = makeVoter(options, { store, clock, witness: () => witness.answer, onDue: askTurn })
  const runner = makeStageRunner(
    'vote',
    () => {
      turns.round()
      return voter.describe()
    },
    seams,
  )
  store.records.subscribe(records => {
    if (records !== undefined) takeRecords(records, store)
  })
  store.vote.subscribe(outcome => witness.ask(witnessIsAskedAbout(outcome)))
  return {
    get status() {
      return runner.status
    },
    start: () => Promise.resolve(),
    round: () => runner.run(),
    vote: () => voter.vote(),
    refreshed: () => voter.refreshed(),
    get isSteady() {
      return voter.isSteady
    },
    resumed: () => witness.ask(undefined),
    stop: () => {
      voter.stop()
      return witness.stop()
    },
  }
}
