// SPDX-License-Identifier: Apache-2.0
import type { AgentOptions } from '../options/agent-options.js'
import type { ZoneState } from '../results.js'
import type { CheckStage } from '../stages/check/stage.js'
import type { PeerStatus } from '../stages/exchange/status.js'
import type { Writer } from '../stages/write/writer.js'
import type { ResultStore } from '../store.js'
import type { Times } from './times.js'

/** Everything that a node's page is made from, at one instant. */
export interface NodeScene {
  readonly options: AgentOptions
  readonly state: ZoneState
  readonly store: ResultStore
  readonly check: Pick<CheckStage, 'stateOf' | 'ownKubelet'>
  /** By name. */
  readonly peers: ReadonlyMap<string, PeerStatus>
  readonly writer: Pick<Writer, 'nextWrite' | 'nodeOf' | 'taintBackoff' | 'heldUntil'>
  readonly times: Times
}
