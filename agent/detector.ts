// SPDX-License-Identifier: Apache-2.0
import type { Target } from '../core/check.js'
import type { Clock } from '../core/clock.js'
import type { NodeName } from '../core/ids.js'
import { isLoopback } from '../core/loopback.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import type { Roster } from '../core/roster.js'
import { makePlugins } from '../plugins/registry.js'
import type { PluginSeams, SelfReport } from '../plugins/seams.js'
import { FLAG } from '../vote/evidence.js'
import { makeJudgement, remapJudgement, type Judgement } from '../vote/judgement.js'
import { VERDICT } from '../vote/quorum.js'
import { Interest } from './stages/check/interest.js'
import { BackupObservers } from './stages/check/backup-observers.js'
import { makeVouching, remapVouching, type VouchEnd } from '../vote/vouch.js'
import { makeChecker, type Checker } from './stages/check/checker.js'
import type { LoopLag } from './ports/loop-lag.js'
import { voteFor } from './stages/check/identity.js'
import type { Credit, RoundOutcome, VoidRound } from './stages/check/probe-worker.js'
import type { MakeTopology } from './records/topology.js'
import { makeEngine, type Engine } from './stages/exchange/engine.js'
import type { KeyRing } from './key-ring.js'
import type { Transport } from './ports/transport.js'
import type { News, RecordTable } from './records/table.js'
import type { AgentOptions } from './options/agent-options.js'
import type { VoteOutcome } from './stages/vote/vote.js'
import type { ResultStore, ZoneState } from './store.js'

/** The ways to a node. */
export interface ProbeSeams extends Omit<PluginSeams, 'selfReport'> {
  /** Whether a connection to this address would end on our own machine. @default never */
  readonly isOwnAddress?: (address: string) => boolean
}

/** The world as the detector sees it. */
export interface DetectorSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly store: ResultStore
  readonly transport: Transport
  readonly probes: ProbeSeams
  readonly loopLag?: LoopLag | undefined
  /** Of the last life; undefined on a node without memory. */
  readonly savedHeartbeat: number | undefined
  readonly saveHeartbeat: (heartbeat: number) => void
  /** Votes have to be counted again. */
  readonly onEvidence: (news: News) => void
  readonly onRound: (outcome: RoundOutcome) => void
  /** Peers say that this machine stood still. */
  readonly onSuspended: () => void
  /** Members that left the roster while they were vouched for. */
  readonly onVouchEnded: (node: string, why: VouchEnd) => void
  /** @default mesh or rings, as the options say */
  readonly topology?: MakeTopology | undefined
}

/** *Check* and *Commun* over one roster: fills the store's zone with votes. */
export interface Detector {
  readonly engine: Engine
  readonly checker: Checker
  /** Go on with another roster; what both share is kept. */
  setRoster(roster: Roster): void
  /** What the own kubelet says, and since when the apiserver is out of reach (undefined: it is not). */
  setOwn(own: { readonly kubelet: SelfReport; readonly cloudCutAt: number | undefined }): void
  /** Somebody on this node depends on these nodes: probe them too, for a while. Unknown names are no harm. */
  setInterest(names: readonly string[]): void
  /** This agent was suspended: it has no voice until it has looked at everybody, and heard from them, anew. */
  resumed(): void
  /** What a vote moved changes how we probe, talk, and what we say of ourselves. */
  afterVote(outcome: VoteOutcome): void
  /** Say goodbye, then stop everything. May be called twice. */
  stop(): Promise<void>
}

/** While an agent suspects itself its probes get this much more time. */
const DOUBT_FACTOR = 2
/** By then every record may be made anew. */
const ASK_AGAIN_MS = 260
const KUBELET_BITS = FLAG.kubeletBad | FLAG.kubeletWell

const KUBELET_FLAG: Readonly<Record<SelfReport, number>> = {
  well: FLAG.kubeletWell,
  bad: FLAG.kubeletBad,
  unknown: 0,
}

/** A condemnation began at this very instant. */
const isBegun = (j: Judgement, now: number): boolean =>
  j.pending.some((verdict, index) => verdict === VERDICT.unhealthy && j.pendingAt[index] === now)

/** Some condemnation still waits for its majority. */
const isUnbacked = (j: Judgement): boolean =>
  j.pending.some(
    (verdict, index) => verdict === VERDICT.unhealthy && j.backedAt[index] === Infinity,
  )

class ZoneDetector implements Detector {
  readonly engine: Engine
  readonly checker: Checker
  readonly #o: AgentOptions
  readonly #seams: DetectorSeams
  #own: { readonly kubelet: SelfReport; readonly cloudCutAt: number | undefined } = {
    kubelet: 'unknown',
    cloudCutAt: undefined,
  }
  /** Own rounds are still missing about somebody who was in the first roster. */
  #isWarming = true
  readonly #interest: Interest
  #backups = new BackupObservers()
  /** Members that we probe though the topology does not ask for it, by name. */
  #extra: ReadonlySet<string> = new Set()
  /** What the members last said of their kubelets, to notice a change. */
  #kubelets: Uint8Array
  #cancelAsking: () => void = () => undefined
  #stopping: Promise<void> | undefined

  constructor(
    options: AgentOptions,
    start: { readonly roster: Roster; readonly keys: KeyRing },
    seams: DetectorSeams,
  ) {
    this.#o = options
    this.#seams = seams
    this.#interest = new Interest(seams.clock)
    const { clock, random, log, transport, savedHeartbeat, saveHeartbeat } = seams
    this.engine = makeEngine(
      options,
      { ...start, savedHeartbeat, topology: seams.topology },
      {
        clock,
        random,
        log,
        transport,
        saveHeartbeat,
        onEvidence: news => this.#evidence(news),
        onSuspect: name => this.checker.probeNow(name),
        onSuspended: () => seams.onSuspended(),
        localUp: index => seams.store.zone.current?.judgement.localUp[index] !== 0,
      },
    )
    const selfReport = (name: NodeName): SelfReport => this.#reportOf(name)
    this.checker = makeChecker(options, {
      plugins: makePlugins(options.plugins, { ...seams.probes, selfReport }, options.scoreLine),
      clock,
      random,
      log,
      loopLag: seams.loopLag,
      onRound: outcome => this.#round(outcome),
      onVoid: round => this.#voidRound(round),
      credit: target => this.#creditOf(target),
      callForVotes: name => this.#about(name, index => this.engine.suspect(index)),
    })
    const size = start.roster.members.length
    this.#kubelets = new Uint8Array(size)
    this.#publish({ judgement: makeJudgement(size), vouching: makeVouching(size) })
    this.#publishOwnState()
    this.#probe(start.roster)
    this.engine.start()
  }

  setRoster(roster: Roster): void {
    const last = this.#state
    this.engine.setRoster(roster)
    this.#backups = new BackupObservers()
    const oldIndexOf = Int32Array.from(
      roster.members,
      member => last.roster.indexOf(member.name) ?? -1,
    )
    const { vouching, left } = remapVouching(last.vouching, oldIndexOf)
    for (const index of left)
      this.#seams.onVouchEnded(last.roster.members[index]!.name, 'roster-left')
    this.#kubelets = Uint8Array.from(oldIndexOf, old => (old < 0 ? 0 : this.#kubelets[old]!))
    this.#publish({ judgement: remapJudgement(last.judgement, oldIndexOf), vouching })
    this.#probe(roster)
    this.#seams.onEvidence('changed')
  }

  setOwn(own: { readonly kubelet: SelfReport; readonly cloudCutAt: number | undefined }): void {
    this.#own = own
    this.#publishOwnState()
    this.#seams.onEvidence('changed')
  }

  resumed(): void {
    this.#isWarming = true
    this.#own = { kubelet: 'unknown', cloudCutAt: undefined }
    this.engine.resumed()
    this.checker.restart()
    this.#publishOwnState()
  }

  afterVote({ changes }: VoteOutcome): void {
    const { judgement: j } = this.#state
    if (isBegun(j, this.#seams.clock.now())) this.#backSoon()
    this.engine.setBurst(changes.burst)
    this.checker.slowDown(j.selfSuspect ? DOUBT_FACTOR : 1)
    if (j.selfSuspect) this.checker.forgiveFalls()
    this.#reviewExtra()
    this.#publishOwnState()
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#cancelAsking()
    await this.checker.stop()
    await this.engine.leave()
    await this.engine.stop()
  }

  get #state(): ZoneState {
    return this.#seams.store.zone.current!
  }

  #publish(part: Pick<ZoneState, 'judgement' | 'vouching'>): void {
    const { table } = this.engine
    this.#seams.store.zone.set(Object.freeze({ roster: table.roster, table, ...part }))
  }

  #probe({ members, self }: Roster): void {
    const { topology } = this.engine.table
    const indices = new Set<number>(topology.targetsOf(self))
    const extra = new Set<string>()
    for (const index of this.#extraOf(this.engine.table)) {
      if (index === self || indices.has(index)) continue
      indices.add(index)
      extra.add(members[index]!.name)
    }
    const ended = [...this.#extra].filter(name => !extra.has(name))
    this.#extra = extra
    this.checker.setTargets(Array.from(indices, index => members[index]!))
    for (const name of ended) this.#about(name, index => this.engine.forgetOwnVote(index))
    this.#reviewWarming()
  }

  /** Whom we stand in for, and who is of interest. */
  #extraOf({ roster }: RecordTable): readonly number[] {
    const asked = this.#interest.names.flatMap(name => roster.indexOf(name) ?? [])
    return [...this.#backups.active, ...asked]
  }

  #reviewExtra(): void {
    const { table } = this.engine
    if (table.topology.kind === 'mesh') return
    const { judgement } = this.#state
    const scene = { table, judgement, now: this.#seams.clock.now(), o: this.#o }
    const isChange = this.#backups.review(scene)
    if (this.#interest.expire() || isChange) this.#probe(table.roster)
  }

  setInterest(names: readonly string[]): void {
    const isChange = this.#interest.ask(names)
    if (isChange && this.engine.table.topology.kind === 'kring')
      this.#probe(this.engine.table.roster)
  }

  #about(name: string, act: (index: number) => void): void {
    const index = this.engine.table.roster.indexOf(name)
    if (index !== undefined) act(index)
  }

  #round(outcome: RoundOutcome): void {
    let news: News = 'fresher'
    this.#about(outcome.target, index => {
      const { failedRounds } = this.engine.table
      const before = failedRounds[index]
      const isFlip = this.engine.setOwnVote(
        index,
        outcome.isDown ? 'down' : 'up',
        outcome.failedRounds,
      )
      if (isFlip || failedRounds[index] !== before) news = 'changed'
    })
    this.#reviewWarming()
    this.#seams.onRound(outcome)
    this.#seams.onEvidence(news)
  }

  /** We could not look: what we said before stands for a while, and then nothing. */
  #voidRound({ target, voteStands }: VoidRound): void {
    const index = this.engine.table.roster.indexOf(target)
    const isLost = !voteStands && index !== undefined && this.engine.table.failedRounds[index]! >= 0
    if (isLost) this.engine.setOwnVote(index, 'not-looked', -1)
    this.#reviewWarming()
    if (isLost) this.#seams.onEvidence('changed')
  }

  /** Warm once there was a round about everybody, be it one that said nothing; who joins later does not cool us down again. */
  #reviewWarming(): void {
    if (!this.#isWarming) return
    const { roster, topology } = this.engine.table
    this.#isWarming = topology.targetsOf(roster.self).some(index => {
      const state = this.checker.stateOf(roster.members[index]!.name)
      return state === undefined || state.rounds + state.voidRounds === 0
    })
    if (!this.#isWarming) this.#publishOwnState()
  }

  /**
   * A verdict is on its way, and what holds it up is that a majority must speak after it began. Who began it at the
   * same time speaks within a batch; the others' records may be too young to be made anew, so they are asked again.
   */
  #backSoon(): void {
    this.#cancelAsking()
    const ask = (again: boolean, ms: number): void => {
      this.#cancelAsking = this.#seams.clock.after(ms, () => {
        if (!isUnbacked(this.#state.judgement)) return
        this.engine.askAround()
        if (again) ask(false, ASK_AGAIN_MS)
      })
    }
    ask(true, this.#o.pushBatchMs)
  }

  /** Everything that the own record says of its node. */
  #publishOwnState(): void {
    const { kubelet, cloudCutAt } = this.#own
    const isSuspect = this.#seams.store.zone.current?.judgement.selfSuspect === true
    const flags =
      KUBELET_FLAG[kubelet] |
      (cloudCutAt === undefined ? 0 : FLAG.cloudCut) |
      (this.#isWarming ? FLAG.warming : 0) |
      (isSuspect ? FLAG.selfSuspect : 0) |
      (this.#stopping === undefined ? 0 : FLAG.leaving)
    this.engine.setOwnFlags(flags, cloudCutAt ?? -Infinity)
  }

  /** A whole zone on one machine's loopback is a demo: there these addresses do tell nodes apart. */
  #isOwnAddress(address: string, own: string): boolean {
    return !isLoopback(own) && this.#seams.probes.isOwnAddress?.(address) === true
  }

  /** What an answer from this target's address is worth: an address is not a node. */
  #creditOf({ name, address }: Target): Credit {
    const { roster, producedAt } = this.engine.table
    const index = roster.indexOf(name)
    if (index === undefined) return { vote: 'not-looked', reason: 'it left the zone' }
    const own = roster.members[roster.self]!
    const signer = this.engine.signerAt(index)
    const sharers = roster.sharersOf(index)
    const signerIndex = typeof signer === 'bigint' ? roster.indexOfId(signer) : undefined
    const who = signerIndex === undefined ? undefined : roster.members[signerIndex]!.name
    const identity =
      who === name ? 'itself' : who !== undefined && sharers.includes(who) ? 'sharer' : 'another'
    const isOwn = address === own.address || this.#isOwnAddress(address, own.address)
    const signedBy = isOwn ? 'own' : typeof signer === 'bigint' ? identity : signer
    const speaks = this.#seams.clock.now() - producedAt[index]! < this.#o.recordTtlMs
    const vote = voteFor({ signedBy, isShared: sharers.length > 0, speaks })
    const elsewhere = `${who ?? 'another agent'} answers at its address ${address}`
    const shared = `its address ${address} is also that of ${sharers.join(', ')}`
    const reasons = {
      own: `its address ${address} is this node's own`,
      sharer: elsewhere,
      another: elsewhere,
      unasked: `it is not known yet who answers at its address ${address}`,
      itself: shared,
      nobody: shared,
    }
    return { vote, reason: reasons[signedBy] }
  }

  /** The word of a node about its own kubelet, if it is fresh. */
  #reportOf(name: string): SelfReport {
    const { table } = this.engine
    const index = table.roster.indexOf(name)
    if (index === undefined) return 'unknown'
    const ageMs = this.#seams.clock.now() - table.producedAt[index]!
    const flags = ageMs < this.#o.recordTtlMs ? table.flags[index]! : 0
    if ((flags & FLAG.kubeletBad) !== 0) return 'bad'
    return (flags & FLAG.kubeletWell) === 0 ? 'unknown' : 'well'
  }

  /** Records came in. Whose kubelet changed is probed at once: its word is part of the score. */
  #evidence(news: News): void {
    if (news === 'changed') this.#reviewKubelets()
    this.#seams.onEvidence(news)
  }

  #reviewKubelets(): void {
    const { table } = this.engine
    for (let index = 0; index < table.size; index++) {
      const bits = table.flags[index]! & KUBELET_BITS
      if (bits === this.#kubelets[index]) continue
      this.#kubelets[index] = bits
      if (index !== table.self) this.checker.probeNow(table.roster.members[index]!.name)
    }
  }
}

/** Begin to watch the zone. The first vote is the caller's to start. */
export const makeDetector = (
  options: AgentOptions,
  start: { readonly roster: Roster; readonly keys: KeyRing },
  seams: DetectorSeams,
): Detector => new ZoneDetector(options, start, seams)
