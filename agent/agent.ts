// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import { reasonOf } from '../core/errors.js'
import type { KubeApi } from './ports/kube-api.js'
import type { LoopLag } from './ports/loop-lag.js'
import { ApiBackoff } from './api-backoff.js'
import { makeApiCheck } from './stages/check/cloud-link.js'
import { AgentCounters } from './counters.js'
import { makeDetector, type Detector, type ProbeSeams } from './detector.js'
import { makeKeyKeeper, type KeyKeeper } from './stages/node-list/keys.js'
import type { AgentOptions } from './options/agent-options.js'
import { OwnNode } from './stages/check/own-node.js'
import type { Transport } from './ports/transport.js'
import type { PeerListenerStatus } from './http/peer-listener.js'
import type { Counts, PeerAnswer, PeerInbox, Views } from './http/views.js'
import type { Scheduler } from './ports/scheduler.js'
import { makeNodeListStage, type NodeListStage } from './stages/node-list/node-list.js'
import { makeStageRunner, type StageRunner } from './stages/runner.js'
import { makeVoteStage, type VoteOutcome, type VoteStage } from './stages/vote/vote.js'
import type { StateFolder } from './state-folder.js'
import { SuspensionWatch } from './suspension.js'
import {
  makeResultStore,
  membersOnly,
  type ConfigProblem,
  type ResultStore,
  type WriteRecord,
} from './store.js'
import { TurnLoop, type TurnReason } from './turn-loop.js'
import { makeViews } from './views/views.js'
import { makeWitness, type Witness } from './stages/vote/witness.js'
import { makeWriter, type Writer } from './stages/write/writer.js'

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

/** Where peers look for this agent. */
export interface Home {
  /** The address of the own Node, or `--node-address`; undefined until the zone is known. */
  readonly address: string | undefined
  /** Calls back after the roster changed. The returned function ends that. */
  subscribe(onChange: () => void): () => void
}

/** One node's agent without its listeners. */
export interface Agent {
  readonly views: Views
  /** Takes what peers send; answers 503 until zone and keys are known. */
  readonly inbox: PeerInbox
  readonly home: Home
  /** Where peers reach this agent: for readiness and `/status`. Until told there is no trouble with it. */
  setPeerListener(status: PeerListenerStatus): void
  /** A listener ended a connection to make room for another. */
  connectionEvicted(listener: keyof Counts['connectionsEvicted']): void
  /** Take what disk remembers and begin. */
  start(): Promise<void>
  /** Say goodbye to the peers and end everything, in reverse order. May be called twice. */
  stop(): Promise<void>
}

const HOUSEKEEPING_MS = 60_000

const NOT_READY: PeerAnswer = { status: 503, body: 'not ready\n' }
/** Room for what a peer of a small zone sends before we know ours. */
const MAX_EARLY_BYTES = 16 << 10

class NodeAgent implements Agent {
  readonly views: Views
  readonly #o: AgentOptions
  readonly #seams: AgentSeams
  readonly #store: ResultStore
  readonly #counters = new AgentCounters()
  readonly #suspension: SuspensionWatch
  readonly #stopping = new AbortController()
  readonly #changed = new Set<(what: 'local' | 'status') => void>()
  readonly #keys: KeyKeeper
  readonly #nodeList: NodeListStage
  readonly #vote: VoteStage
  readonly #writer: Writer
  readonly #witness: Witness
  readonly #apiBackoff: ApiBackoff
  readonly #rounds: Readonly<Record<'get-node-list' | 'vote', StageRunner>>
  readonly #turns: TurnLoop
  readonly #ownNode: OwnNode
  #detector: Detector | undefined
  #savedHeartbeat: number | undefined
  #stopped: Promise<void> | undefined

  constructor(options: AgentOptions, { clock: ownClock, ...others }: AgentSeams) {
    const { log, folder, kube } = others
    const onResume = (): void => this.#resumed()
    this.#suspension = new SuspensionWatch({
      clock: ownClock,
      log,
      serverTime: () => kube.serverTime(),
      onResume,
    })
    const { clock } = this.#suspension
    const seams: AgentSeams = { ...others, clock }
    this.#turns = new TurnLoop(clock, reasons => this.#turn(reasons))
    this.#o = options
    this.#seams = seams
    this.#store = makeResultStore(clock.now())
    const apiBackoff = new ApiBackoff({ clock, random: seams.random })
    this.#apiBackoff = apiBackoff
    const store = this.#store
    const onProblem = (problem: ConfigProblem): void => this.#problem(problem)
    this.#keys = makeKeyKeeper(options, {
      folder,
      clock,
      log,
      onProblem,
      onRing: () => this.#reviewDetector(),
    })
    this.#nodeList = makeNodeListStage(options, {
      ...{ kube, folder, store, clock, log, onProblem },
      onKeys: (secret, hmacConfig) => this.#keys.offer(secret, hmacConfig),
    })
    this.#writer = makeWriter(options, {
      ...{ kube, clock, random: seams.random, log, store, apiBackoff },
      record: write => this.#record(write),
      judge: () => this.#voteNow(),
    })
    this.#witness = makeWitness(options, {
      clock,
      dial: seams.probes.dial,
      http: seams.probes.http,
      getLease: (node, signal) => kube.getLease(node, signal),
      apiBackoff,
      isOurRenewal: (node, renewTime) => this.#writer.isOurs(node, renewTime),
      onChange: () => this.#turns.ask('changed'),
    })
    this.#vote = makeVoteStage(options, {
      store,
      clock,
      witness: () => this.#witness.answer,
      onDue: () => this.#turns.ask('changed'),
      onVote: outcome => this.#afterVote(outcome),
    })
    this.#ownNode = new OwnNode(options, {
      ...{ clock, random: seams.random, log, http: seams.probes.http },
      ping: makeApiCheck(kube, options.nodeName, this.#apiBackoff),
      onLink: state => {
        store.cloudLink.set(state)
        this.#apiBackoff.linkChanged()
        this.#publishOwnState()
        this.#turns.ask('writes')
      },
      onKubelet: () => this.#publishOwnState(),
    })
    this.#rounds = {
      'get-node-list': makeStageRunner('get-node-list', () => this.#nodeList.round(), seams),
      vote: makeStageRunner('vote', () => this.#voteRound(), seams),
    }
    this.views = makeViews(options, {
      ...{ clock, store, counters: this.#counters, writer: this.#writer, version: seams.version },
      keys: this.#keys,
      detector: () => this.#detector,
      ownKubelet: () => this.#ownNode.kubeletReason,
      stages: () => [this.#rounds['get-node-list'].status, this.#rounds.vote.status],
      watchLists: () => this.#nodeList.lists,
      subscribe: onChange => {
        this.#changed.add(onChange)
        return () => this.#changed.delete(onChange)
      },
      setVerbosity: seams.setVerbosity,
    })
    store.nodeList.subscribe(() => this.#reviewDetector())
    this.home = {
      get address() {
        const { roster } = store.nodeList.current
        return options.nodeAddress ?? roster?.members[roster.self]?.address
      },
      subscribe: onChange => store.nodeList.subscribe(onChange),
    }
  }

  setPeerListener(status: PeerListenerStatus): void {
    this.#store.peerListener.set(status)
    this.#tell('status')
  }

  connectionEvicted(listener: keyof Counts['connectionsEvicted']): void {
    this.#counters.connectionEvicted(listener)
  }

  readonly home: Home

  readonly inbox: PeerInbox = {
    isMember: address => this.#store.nodeList.current.roster?.hasAddress(address) === true,
    maxBytes: route => this.#detector?.engine.maxBytes(route) ?? MAX_EARLY_BYTES,
    receive: (route, body, from) => {
      if (this.#detector === undefined) return NOT_READY
      this.#suspension.look()
      const { contentType, nosniff, ...answer } = this.#detector.engine.receive(route, body, from)
      const guard = nosniff ? { 'X-Content-Type-Options': 'nosniff' } : {}
      return { ...answer, headers: { 'Content-Type': contentType, ...guard } }
    },
  }

  async start(): Promise<void> {
    const { scheduler, folder } = this.#seams
    const { signal } = this.#stopping
    this.#suspension.start()
    const saved = Number(await folder.read('heartbeat'))
    this.#savedHeartbeat = Number.isSafeInteger(saved) && saved > 0 ? saved : undefined
    await this.#keys.recall()
    await this.#nodeList.start()
    if (signal.aborted) {
      this.#suspension.stop()
      return
    }
    this.#ownNode.start()
    const { 'get-node-list': nodeList, vote } = this.#rounds
    scheduler.every('get-node-list', this.#o.nodeListPeriodMs, signal, () => nodeList.run())
    scheduler.every('vote', this.#o.votePeriodMs, signal, () => vote.run())
    scheduler.every('housekeeping', HOUSEKEEPING_MS, signal, () => folder.retry())
    await nodeList.run()
  }

  /** All that is known is from before a suspension: nothing of it may be acted upon. */
  #resumed(): void {
    if (this.#stopping.signal.aborted) return
    this.#counters.suspended()
    this.#writer.resumed()
    this.#witness.ask(undefined)
    this.#detector?.resumed()
    if (this.#ownNode.isStarted) this.#store.cloudLink.set(this.#ownNode.start())
    this.#turns.ask('changed')
  }

  /** Every vote is one of an agent that is awake. */
  #turn(reasons: ReadonlySet<TurnReason>): void {
    this.#suspension.look()
    if (reasons.has('changed')) this.#vote.vote()
    else if (reasons.has('fresher')) this.#vote.refreshed()
    if (reasons.has('writes')) this.#writer.review()
  }

  /** A write is about to leave: what was decided must be so at this moment. */
  #voteNow(): void {
    this.#suspension.look()
    this.#vote.vote()
  }

  #voteRound(): string {
    this.#suspension.look()
    return `${this.#vote.round()}; ${this.#writer.review()}`
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.#stopping.abort()
    this.#suspension.stop()
    this.#turns.stop()
    this.#vote.stop()
    await this.#writer.stop()
    await this.#detector?.stop()
    await Promise.all([this.#witness.stop(), this.#ownNode.stop()])
    await this.#nodeList.stop()
    this.#seams.transport.close()
    await this.#seams.kube.close()
    await this.#seams.folder.settled()
  }

  /** Zone or keys changed: begin to watch the zone, or go on with what is new. */
  #reviewDetector(): void {
    const { roster } = this.#store.nodeList.current
    const { ring } = this.#keys
    if (roster === undefined || ring === undefined || this.#stopping.signal.aborted) return
    if (this.#detector === undefined) this.#begin(roster, ring)
    else {
      this.#detector.engine.setKeys(ring)
      // Each Node that a watch tells of comes by here; a vote over the same members has nothing new to count.
      if (this.#detector.engine.table.roster === roster) return
      this.#detector.setRoster(roster)
      this.#store.writes.set(membersOnly(this.#store.writes.current, roster))
      this.#counters.keepOnly(name => roster.indexOf(name) !== undefined)
    }
    this.#turns.ask('changed')
    this.#tell('local')
  }

  #begin(
    roster: NonNullable<ResultStore['nodeList']['current']['roster']>,
    keys: NonNullable<KeyKeeper['ring']>,
  ): void {
    const { clock, random, log, transport, probes, loopLag, folder } = this.#seams
    this.#detector = makeDetector(
      this.#o,
      { roster, keys },
      {
        ...{ clock, random, log, transport, probes, loopLag, store: this.#store },
        savedHeartbeat: this.#savedHeartbeat,
        saveHeartbeat: heartbeat => void folder.write('heartbeat', String(heartbeat)),
        onEvidence: news => this.#turns.ask(news),
        onSuspended: () => this.#suspension.told('peers'),
        onRound: outcome => this.#counters.round(outcome),
        onVouchEnded: (node, why) => this.#writer.vouchEnded(node, why),
      },
    )
    this.#publishOwnState()
  }

  #publishOwnState(): void {
    const { state, since } = this.#store.cloudLink.current
    const { kubelet } = this.#ownNode
    this.#detector?.setOwn({ kubelet, cloudCutAt: state === 'cut' ? since : undefined })
  }

  #afterVote(outcome: VoteOutcome): void {
    const { state, changes, vouchEnded, vouchMoved } = outcome
    this.#counters.vote(outcome)
    this.#detector?.afterVote(outcome)
    for (const { index, why } of vouchEnded)
      this.#writer.vouchEnded(state.roster.members[index]!.name, why)
    this.#askWitness(outcome)
    const isChange = changes.state || vouchMoved || changes.verdict.length > 0
    if (isChange || vouchEnded.length > 0) this.#writer.review()
    if (changes.local.length > 0) this.#tell('local')
    else if (isChange) this.#tell('status')
  }

  /** Only a zone of two has a witness, and it is asked only while the two do not reach each other. */
  #askWitness({ state: { table, roster } }: VoteOutcome): void {
    const peer = table.size === 2 ? 1 - table.self : -1
    const isLost = peer >= 0 && table.saysDown(table.self, peer)
    this.#witness.ask(isLost ? roster.members[peer]!.name : undefined)
  }

  #tell(what: 'local' | 'status'): void {
    for (const reader of this.#changed) reader(what)
  }

  #record(write: Omit<WriteRecord, 'at'>): void {
    const { log, clock } = this.#seams
    const { node, kind, what, result, trouble } = write
    this.#counters.write(write)
    const level = result === 'done' ? 'info' : 'warn'
    if (kind !== 'lease' || result !== 'done')
      log[level]('write', { node, kind, what, result, trouble })
    if (kind === 'event') return
    const next = new Map(this.#store.writes.current).set(node, { ...write, at: clock.wall() })
    this.#store.writes.set(membersOnly(next, this.#store.nodeList.current.roster))
    this.#tell('status')
  }

  #problem(problem: ConfigProblem): void {
    const { log, kube } = this.#seams
    this.#counters.problem()
    log.error('config is refused, the last good one stays', {
      thing: problem.thing,
      reason: problem.problem,
    })
    const own = this.#store.nodeList.current.nodes.get(this.#o.nodeName)
    const event = {
      ...{ node: this.#o.nodeName, nodeUid: own?.uid ?? '', reportingInstance: this.#o.nodeName },
      ...({ type: 'Warning', reason: 'ConfigRefused', action: 'Reload' } as const),
      note: `${problem.thing} is not used, the last good one stays: ${problem.problem}`,
    }
    if (!this.#apiBackoff.isReady) return
    this.#apiBackoff.left()
    kube.createEvent(event, this.#stopping.signal).catch((error: unknown) => {
      this.#apiBackoff.failed(error)
      log.debug('event not created', { reason: reasonOf(error) })
    })
  }
}

/** Build one node's agent from options and seams; nothing runs before `start`. */
export const makeAgent = (options: AgentOptions, seams: AgentSeams): Agent =>
  new NodeAgent(options, seams)
