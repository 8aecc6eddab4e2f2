// SPDX-License-Identifier: Apache-2.0
import type { AgentCounters } from '../counters.js'
import type { Counts } from '../http/views.js'
import type { CheckStage } from '../stages/check/stage.js'
import { REFUSALS } from '../stages/exchange/refusal.js'
import type { ExchangeStage } from '../stages/exchange/stage.js'
import type { EngineStatus } from '../stages/exchange/status.js'
import type { NodeListStage } from '../stages/node-list/stage.js'
import type { ResultStore } from '../store.js'

/** The parts of the agent that count. */
export interface CountSeams {
  readonly store: ResultStore
  readonly counters: AgentCounters
  readonly check: Pick<CheckStage, 'stateOf'>
  readonly exchange: Pick<ExchangeStage, 'report'>
  readonly nodeList: Pick<NodeListStage, 'lists'>
}

/** All are there from the start: a series that appears with its first count shows no increase. */
const NO_REFUSALS: Counts['exchange']['refused'] = Object.fromEntries(
  REFUSALS.map(refusal => [refusal, 0]),
)

const exchangeOf = (engine: EngineStatus): Counts['exchange'] => ({
  sentBytes: engine.bytesSent,
  receivedBytes: engine.bytesReceived,
  sent: engine.messagesSent,
  failed: engine.failures,
  received: engine.messagesReceived,
  refused: { ...NO_REFUSALS, ...engine.refusals },
  proved: engine.identity.proved,
  equivocations: engine.identity.equivocations,
})

const NO_EXCHANGE: Counts['exchange'] = {
  sentBytes: 0,
  receivedBytes: 0,
  sent: 0,
  failed: 0,
  received: 0,
  refused: NO_REFUSALS,
  proved: 0,
  equivocations: 0,
}

/** What the agent counted since it started. */
export const countsOf = (seams: CountSeams): Counts => {
  const { store, check, exchange, counters, nodeList } = seams
  const { report } = exchange
  const members = store.zone.current?.roster.members ?? []
  const voids = members.map(({ name }) => check.stateOf(name)?.voidRounds ?? 0)
  return {
    ...counters.show(voids.reduce((sum, count) => sum + count, 0)),
    exchange: report === undefined ? NO_EXCHANGE : exchangeOf(report),
    watchLists: nodeList.lists,
  }
}
