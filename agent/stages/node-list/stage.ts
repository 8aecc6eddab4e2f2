// SPDX-License-Identifier: Apache-2.0
import type { AgentOptions } from '../../options/agent-options.js'
import { consequenceOf } from '../../config-problem.js'
import type { ConfigProblem } from '../../results.js'
import { makeStageRunner } from '../runner.js'
import type { ScheduledStage } from '../stage.js'
import { makeKeyKeeper } from './keys.js'
import { RosterKeeper, type NodeListSeams } from './roster-keeper.js'

/** Where peers look for this agent. */
export interface Home {
  /** The address of the own Node, or `--node-address`; undefined until the zone is known. */
  readonly address: string | undefined
  /** Calls back after the roster changed. The returned function ends that. */
  subscribe(onChange: () => void): () => void
}

/** The stage that knows who is in the zone, and the zone's keys. */
export interface NodeListStage extends ScheduledStage {
  readonly home: Home
  /** Full lists that the watches asked for so far. */
  readonly lists: number
}

/** *GetNodeList*: puts Nodes, ConfigMaps and keys of the API into the store, and before those what was saved on disk. */
export const makeNodeListStage = (options: AgentOptions, seams: NodeListSeams): NodeListStage => {
  const { store, log } = seams
  const onProblem = (problem: ConfigProblem): void => {
    const { thing, problem: reason } = problem
    log.error(`config is ${consequenceOf(problem)}`, { thing, reason })
    store.configProblem.emit(problem)
  }
  const keys = makeKeyKeeper(options, { ...seams, onProblem })
  const publishKeys = (): void => {
    const { ring, problem } = keys
    const last = store.keys.current
    if (ring !== last.ring || problem !== last.problem) store.keys.set({ ring, problem })
  }
  const roster = new RosterKeeper(options, {
    ...{ ...seams, onProblem },
    onKeys: (secret, hmacConfig) => {
      keys.offer(secret, hmacConfig)
      publishKeys()
    },
  })
  store.vote.subscribe(({ state, changes }) => {
    for (const index of changes.local)
      if (state.judgement.localUp[index] === 0) roster.doubt(state.roster.members[index]!.name)
  })
  const runner = makeStageRunner('get-node-list', () => roster.round(), seams)
  const { nodeList } = store
  return {
    get status() {
      return runner.status
    },
    get lists() {
      return roster.lists
    },
    home: {
      get address() {
        const { roster: now } = nodeList.current
        return options.nodeAddress ?? now?.members[now.self]?.address
      },
      subscribe: onChange => nodeList.subscribe(onChange),
    },
    start: async () => {
      await keys.recall()
      publishKeys()
      await roster.start()
    },
    round: () => runner.run(),
    // A watch resumes, or lists anew, by itself.
    resumed: () => undefined,
    stop: () => roster.stop(),
  }
}
