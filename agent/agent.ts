// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import { ApiBackoff } from './api-backoff.js'
import { AgentCounters } from './counters.js'
import { History } from './history/history.js'
import { HistoryRecorder } from './history/recorder.js'
import type { Counts, Views } from './http/views.js'
import type { AgentOptions } from './options/agent-options.js'
import type { KubeApi } from './ports/kube-api.js'
import type { LoopLag } from './ports/loop-lag.js'
import type { PeerInbox } from './ports/peer-inbox.js'
import type { Scheduler } from './ports/scheduler.js'
import type { Transport } from './ports/transport.js'
import type { PeerListenerStatus } from './results.js'
import { makeCheckStage, type ProbeSeams } from './stages/check/stage.js'
import { makeExchangeStage } from './stages/exchange/stage.js'
import { makeIdentityStage } from './stages/identity/stage.js'
import { makeNodeListStage, type Home } from './stages/node-list/stage.js'
import { makeVoteStage } from './stages/vote/stage.js'
import { makeWriteStage } from './stages/write/stage.js'
import type { StateFolder } from './state-folder.js'
import { makeResultStore } from './store.js'
import { SuspensionWatch } from './suspension.js'
import { TurnLoop } from './turn-loop.js'
import { makeViews } from './views/views.js'

/** The world as the agent sees it. */
export interface AgentSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly scheduler: Scheduler
  readonly kube: KubeApi
  readonly transport: Transport
  readonly folder: StateFolder
  readonly probes: ProbeSeams
  readonly loopLag?: LoopLag | undefined
  readonly version: string
  /** klog's verbosity, 0 to 10. */
  readonly setVerbosity: (verbosity: number) => void
}

/** One node's agent without its listeners. */
export interface Agent {
  readonly views: Views
  /** Takes what peers send; answers 503 until zone and keys are known. */
  readonly inbox: PeerInbox
  readonly home: Home
  /** Where peers reach this agent: for readiness and `/status`. Until trouble is reported there is none. */
  setPeerListener(status: PeerListenerStatus): void
  /** A listener ended a connection to make room for another. */
  connectionEvicted(listener: keyof Counts['connectionsEvicted']): void
  /** Load what was saved on disk, and begin. */
  start(): Promise<void>
  /** Say goodbye to the peers and end everything, in reverse order. May be called twice. */
  stop(): Promise<void>
}

const HOUSEKEEPING_MS = 60_000

/**
 * The parts of one agent, not started yet.
 * @param onResume called when the machine goes on after a suspension
 */
const makeParts = (options: AgentOptions, world: AgentSeams, onResume: () => void) => {
  const { random, log, kube, folder } = world
  const suspension = new SuspensionWatch({
    ...{ clock: world.clock, log, onResume },
    serverTime: () => kube.serverTime(),
  })
  const { clock } = suspension
  const store = makeResultStore(clock.now())
  const counters = new AgentCounters(store)
  const history = new History({ clock, folder, log })
  const recorder = new HistoryRecorder(options, store, entry => history.add(entry))
  const apiBackoff = new ApiBackoff({ clock, random })
  const turns = new TurnLoop({ clock, store, suspension })
  const seams = { ...world, clock, store, apiBackoff, suspension, turns }

  const nodeList = makeNodeListStage(options, seams)
  const identity = makeIdentityStage(options, seams)
  const exchange = makeExchangeStage(options, seams)
  const check = makeCheckStage(options, seams)
  const vote = makeVoteStage(options, seams)
  const write = makeWriteStage(options, seams)
  /** Stages that read the rounds start before the one that makes them. */
  const stages = [nodeList, identity, exchange, check, vote, write]
  turns.start(vote, write)
  const views = makeViews(options, {
    ...seams,
    counters,
    history,
    nodeList,
    check,
    exchange,
    vote,
    write,
  })
  return {
    ...{ suspension, store, counters, history, recorder, turns },
    ...{ nodeList, exchange, check, vote, stages, views },
  }
}

/** Build one node's agent from options and seams; nothing runs before `start`. */
export const makeAgent = (options: AgentOptions, world: AgentSeams): Agent => {
  const { kube, folder, scheduler } = world
  const stopping = new AbortController()
  const { signal } = stopping
  const parts = makeParts(options, world, () => resumed())
  const { suspension, store, counters, history, recorder, turns } = parts
  const { nodeList, exchange, check, vote, stages, views } = parts

  /** All that is known is from before a suspension: nothing of it may be acted upon. */
  const resumed = (): void => {
    if (signal.aborted) return
    counters.suspended()
    history.add({ kind: 'agent', to: 'resumed' })
    for (const stage of stages) stage.resumed()
    turns.ask('changed')
  }
  const start = async (): Promise<void> => {
    suspension.start()
    await history.load()
    if (!signal.aborted) {
      recorder.continueFrom(history.entries)
      history.add({ kind: 'agent', to: 'started', note: `version ${world.version}` })
    }
    if (!signal.aborted) await check.recall()
    for (const stage of stages) if (!signal.aborted) await stage.start()
    if (signal.aborted) {
      suspension.stop()
      return
    }
    const { nodeListPeriodMs, votePeriodMs } = options
    scheduler.every('get-node-list', nodeListPeriodMs, signal, () => nodeList.round())
    scheduler.every('vote', votePeriodMs, signal, () => vote.round())
    scheduler.every('housekeeping', HOUSEKEEPING_MS, signal, () => folder.retry())
    await nodeList.round()
  }
  const stop = async (): Promise<void> => {
    stopping.abort()
    suspension.stop()
    turns.stop()
    for (const stage of stages.toReversed()) await stage.stop()
    await kube.close()
    history.add({ kind: 'agent', to: 'stopped' })
    await history.save()
    await folder.settled()
  }
  let stopped: Promise<void> | undefined
  return {
    views,
    inbox: exchange.inbox,
    home: nodeList.home,
    setPeerListener: status => store.peerListener.set(status),
    connectionEvicted: listener => counters.connectionEvicted(listener),
    start,
    stop: () => (stopped ??= stop()),
  }
}
