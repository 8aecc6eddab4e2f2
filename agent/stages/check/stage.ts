// SPDX-License-Identifier: Apache-2.0
import type { Target } from '../../../core/check.js'
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { StageStatus } from '../../../core/stage.js'
import { makePlugins } from '../../../plugins/registry.js'
import type { PluginSeams, SelfReport } from '../../../plugins/seams.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { LoopLag } from '../../ports/loop-lag.js'
import type { News } from '../../records/table.js'
import type { OwnNodeResult, VoteOutcome, ZoneRecords, ZoneState } from '../../results.js'
import type { StateFolder } from '../../state-folder.js'
import type { ResultStore } from '../../store.js'
import type { ShownStage } from '../stage.js'
import { makeChecker, type Checker } from './checker.js'
import { makeCloudCheck, type CheckedApi } from './cloud-check.js'
import { creditOf } from './credit.js'
import { KubeletReports, reportOf } from './kubelet-reports.js'
import { OwnNode } from './own-node.js'
import { RememberedWord } from './own-word.js'
import type { Credit, VoidRound } from './probe-worker.js'
import type { TargetState } from './target-history.js'
import { Targets } from './targets.js'

/** The ways to a node. */
export interface ProbeSeams extends Omit<PluginSeams, 'selfReport'> {
  /** Whether a connection to this address would end on our own machine. @default never */
  readonly isOwnAddress?: (address: string) => boolean
}

interface CheckSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly store: ResultStore
  readonly kube: CheckedApi
  readonly apiBackoff: ApiBackoff
  readonly probes: ProbeSeams
  /** Keeps what was last told of the own node. */
  readonly folder: Pick<StateFolder, 'read' | 'write' | 'troubles'>
  readonly loopLag?: LoopLag | undefined
}

/** The stage that probes the peers, and asks the own node how it is. */
export interface CheckStage extends ShownStage {
  /** Why probing cannot work at all at present, in words; undefined when it can. */
  readonly trouble: string | undefined
  /** What the own kubelet last answered, in words; empty when it is well. */
  readonly ownKubelet: string
  /** Undefined for a node that is not probed. */
  stateOf(node: NodeName): TargetState | undefined
  /**
   * A program on this node depends on these nodes: probe them too, for a while. Unknown names do no harm.
   * @param isTrusted the program is root's or our own user's: its names do not make way for others'
   */
  setInterest(names: readonly string[], isTrusted: boolean): void
  /** Load what was last told of the own node: before anything is told. */
  recall(): Promise<void>
}

/** While an agent suspects itself its probes get this much more time. */
const DOUBT_FACTOR = 2

class ZoneCheck implements CheckStage {
  readonly #options: AgentOptions
  readonly #seams: CheckSeams
  readonly #checker: Checker
  readonly #ownNode: OwnNode
  readonly #word: RememberedWord
  readonly #targets: Targets
  #kubelets: KubeletReports | undefined
  #rounds = 0
  #cancelReview: () => void = () => undefined

  constructor(options: AgentOptions, seams: CheckSeams) {
    this.#options = options
    this.#seams = seams
    const { store, clock, random, log, probes, loopLag, kube, apiBackoff } = seams
    this.#targets = new Targets(clock, options)
    this.#word = new RememberedWord(options, seams)
    const selfReport = (name: NodeName): SelfReport => this.#reportOf(name)
    this.#checker = makeChecker(options, {
      plugins: makePlugins(options.plugins, { ...probes, selfReport }, options.scoreLine),
      ...{ clock, random, log, loopLag },
      onRound: outcome => {
        this.#rounds++
        store.round.emit(outcome)
        this.#reviewWarming()
      },
      onVoid: round => this.#takeVoid(round),
      credit: target => this.#creditOf(target),
      callForVotes: name => store.callForVotes.emit(name),
    })
    this.#ownNode = new OwnNode(options, {
      ...{ clock, random, log, loopLag, http: probes.http },
      ping: makeCloudCheck(options, kube, clock),
      onLink: cloudLink => {
        apiBackoff.linkChanged()
        this.#publish({ cloudLink })
      },
      onKubelet: kubelet => this.#sawKubelet(kubelet),
    })
    store.records.subscribe(records => this.#takeRecords(records))
    store.evidence.subscribe(news => this.#takeEvidence(news))
    store.probeNow.subscribe(name => this.#checker.probeNow(name))
    store.vote.subscribe(outcome => this.#afterVote(outcome))
  }

  get status(): StageStatus {
    const stage = { name: 'check', rounds: this.#rounds, lastAt: null } as const
    if (this.#seams.store.records.current === undefined)
      return { ...stage, state: 'waiting', detail: 'waiting for zone and keys' }
    const { trouble } = this.#checker
    if (trouble !== undefined) return { ...stage, state: 'failing', detail: trouble }
    return { ...stage, state: 'ok', detail: `${this.#rounds} rounds` }
  }

  get trouble(): string | undefined {
    return this.#checker.trouble
  }

  get ownKubelet(): string {
    return this.#ownNode.kubeletReason
  }

  stateOf(node: NodeName): TargetState | undefined {
    return this.#checker.stateOf(node)
  }

  setInterest(names: readonly string[], isTrusted: boolean): void {
    const table = this.#seams.store.records.current?.table
    if (this.#targets.ask(names, isTrusted) && table?.topology.kind === 'kring') this.#probe()
  }

  async recall(): Promise<void> {
    this.#publish(await this.#word.recall(this.#seams.store.ownNode.current))
  }

  start(): Promise<void> {
    this.#ownNode.start(this.#seams.store.ownNode.current)
    return Promise.resolve()
  }

  resumed(): void {
    this.#checker.restart()
    this.#publish({ isWarming: true })
    this.#reviewWarming()
    if (!this.#ownNode.isStarted) return
    const before = this.#word.beginAgain(this.#seams.store.ownNode.current)
    this.#publish({ ...before, cloudLink: this.#ownNode.start(before) })
  }

  async stop(): Promise<void> {
    this.#cancelReview()
    await this.#checker.stop()
    await this.#ownNode.stop()
  }

  #publish(change: Partial<OwnNodeResult>): void {
    const { ownNode } = this.#seams.store
    const next = Object.freeze({ ...ownNode.current, ...change })
    this.#word.keep(next)
    ownNode.set(next)
  }

  #sawKubelet(kubelet: SelfReport): void {
    const { current } = this.#seams.store.ownNode
    this.#word.saw(kubelet)
    if (kubelet === current.kubelet) this.#word.keep(current)
    else this.#publish({ kubelet })
  }

  #takeRecords(records: ZoneRecords | undefined): void {
    if (records === undefined) return
    this.#kubelets = new KubeletReports(records.table)
    this.#targets.reset()
    this.#probe()
  }

  /** A node whose kubelet's report changed is probed at once: the report is part of the score. */
  #takeEvidence(news: News): void {
    if (news !== 'changed') return
    for (const name of this.#kubelets?.changed() ?? []) this.#checker.probeNow(name)
  }

  #afterVote({ state }: VoteOutcome): void {
    const { selfSuspect } = state.judgement
    this.#checker.slowDown(selfSuspect ? DOUBT_FACTOR : 1)
    if (selfSuspect) this.#checker.forgiveFalls()
    this.#reviewTargets(state)
  }

  /** Also on a timer: votes are rare while all is well, and it is so for long after a healthy node's observers fell silent. */
  #reviewTargets(state: ZoneState): void {
    const { clock, store } = this.#seams
    this.#cancelReview()
    if (this.#targets.review(state)) this.#probe()
    const { dueAt } = this.#targets
    if (dueAt === Infinity) return
    this.#cancelReview = clock.after(Math.max(1, dueAt - clock.now()), () => {
      if (store.zone.current !== undefined) this.#reviewTargets(store.zone.current)
    })
  }

  #probe(): void {
    const { records, endedVote } = this.#seams.store
    const { targets, ended } = this.#targets.list(records.current!.table)
    this.#checker.setTargets(targets)
    for (const target of ended) endedVote.emit({ target, why: 'not-probed' })
    this.#reviewWarming()
  }

  /** We could not probe: our earlier vote stands for a while, then we have none. */
  #takeVoid({ target, voteStands }: VoidRound): void {
    if (!voteStands) this.#seams.store.endedVote.emit({ target, why: 'not-looked' })
    this.#reviewWarming()
  }

  /** Warm after one round about everybody, void rounds included; a member that joins later changes nothing about that. */
  #reviewWarming(): void {
    const { records, ownNode } = this.#seams.store
    if (!ownNode.current.isWarming || records.current === undefined) return
    const { roster, topology } = records.current.table
    const isWarming = topology.targetsOf(roster.self).some(index => {
      const state = this.#checker.stateOf(roster.members[index]!.name)
      return state === undefined || state.rounds + state.voidRounds === 0
    })
    if (!isWarming) this.#publish({ isWarming })
  }

  /** A member that has sent nothing since then is silent. */
  get #silentSince(): number {
    return this.#seams.clock.now() - this.#options.recordTtlMs
  }

  #creditOf(target: Target): Credit {
    const { store, probes } = this.#seams
    const records = store.records.current!
    const index = records.roster.indexOf(target.name)
    if (index !== undefined && records.signerAt(index) === 'unasked')
      store.whoIsThere.emit(target.name)
    const isOwnAddress = (address: string): boolean => probes.isOwnAddress?.(address) === true
    return creditOf(target, { records, sinceAt: this.#silentSince, isOwnAddress })
  }

  #reportOf(name: string): SelfReport {
    const table = this.#seams.store.records.current?.table
    return table === undefined ? 'unknown' : reportOf(table, name, this.#silentSince)
  }
}

/** *Check*: probes → rounds and own node in the store. */
export const makeCheckStage = (options: AgentOptions, seams: CheckSeams): CheckStage =>
  new ZoneCheck(options, seams)
