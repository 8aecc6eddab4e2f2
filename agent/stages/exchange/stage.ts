// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { StageStatus } from '../../../core/stage.js'
import type { SelfReport } from '../../../plugins/seams.js'
import { FLAG, HELD, type Vote } from '../../../vote/evidence.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { PeerAnswer, PeerInbox } from '../../ports/peer-inbox.js'
import type { Transport } from '../../ports/transport.js'
import type { MakeTopology } from '../../records/topology.js'
import type { EndedVote, RoundOutcome, VoteOutcome } from '../../results.js'
import type { StateFolder } from '../../state-folder.js'
import type { ResultStore } from '../../store.js'
import type { ShownStage } from '../stage.js'
import { MAX_EPOCH } from '../../identity/own-statement.js'
import { Engine, type EngineStart } from './engine.js'
import { MajorityCall } from './majority-call.js'
import type { EngineStatus } from './status.js'

interface ExchangeSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly store: ResultStore
  readonly transport: Transport
  /** Keeps the heartbeat, and the epoch of what the node signs, over a restart. */
  readonly folder: Pick<StateFolder, 'read' | 'write'>
  readonly suspension: { look(): void; reportedBy(by: 'peers'): void }
  /** @default mesh or rings, as the options say */
  readonly topology?: MakeTopology | undefined
}

/** The stage that holds the zone's records: it makes this node's record from its own probes, and exchanges all records. */
export interface ExchangeStage extends ShownStage {
  /** Takes what peers send; answers 503 until zone and keys are known. */
  readonly inbox: PeerInbox
  /** Undefined until zone and keys are known. */
  readonly report: EngineStatus | undefined
}

const NOT_READY: PeerAnswer = { status: 503, body: 'not ready\n' }
/** Room for what a peer of a small zone sends before we know ours. */
const MAX_EARLY_BYTES = 16 << 10

const KUBELET_FLAG: Readonly<Record<SelfReport, number>> = {
  well: FLAG.kubeletWell,
  bad: FLAG.kubeletBad,
  unknown: 0,
}

class ZoneExchange implements ExchangeStage {
  readonly #options: AgentOptions
  readonly #seams: ExchangeSeams
  readonly #majorityCall: MajorityCall
  #engine: Engine | undefined
  #savedHeartbeat: number | undefined
  #savedEpoch = 0
  #isStarted = false
  #stopping: Promise<void> | undefined

  constructor(options: AgentOptions, seams: ExchangeSeams) {
    this.#options = options
    this.#seams = seams
    this.#majorityCall = new MajorityCall(options, {
      ...{ clock: seams.clock, store: seams.store },
      askAround: () => this.#engine?.askAround(),
      askWidely: () => this.#engine?.askWidely(),
    })
    const { store } = seams
    store.nodeList.subscribe(() => this.#follow())
    store.keys.subscribe(() => this.#follow())
    store.identities.subscribe(identities => this.#engine?.setIdentities(identities))
    store.ownNode.subscribe(() => this.#publishOwnState())
    store.round.subscribe(outcome => this.#takeRound(outcome))
    store.endedVote.subscribe(ended => this.#endVote(ended))
    store.callForVotes.subscribe(name => this.#about(name, index => this.#engine!.suspect(index)))
    store.whoIsThere.subscribe(name => this.#about(name, index => this.#engine!.identify(index)))
    store.whoHasKeys.subscribe(name => this.#about(name, index => this.#engine!.ask(index)))
    store.vote.subscribe(outcome => this.#afterVote(outcome))
  }

  get status(): StageStatus {
    const stage = { name: 'commun', lastAt: null } as const
    const { report } = this
    if (report === undefined)
      return { ...stage, state: 'waiting', rounds: 0, detail: 'waiting for zone and keys' }
    const { taking, peerCount } = report
    return {
      ...stage,
      state: peerCount > 0 && taking === 0 ? 'failing' : 'ok',
      rounds: report.messagesSent,
      detail: `${taking} of ${peerCount} peers take our messages`,
    }
  }

  get report(): EngineStatus | undefined {
    return this.#engine?.status()
  }

  readonly inbox: PeerInbox = {
    isMember: address => this.#seams.store.nodeList.current.roster?.hasAddress(address) === true,
    maxBytes: route => this.#engine?.maxBytes(route) ?? MAX_EARLY_BYTES,
    receive: (route, body, from) => {
      if (this.#engine === undefined) return NOT_READY
      this.#seams.suspension.look()
      const { contentType, nosniff, ...answer } = this.#engine.receive(route, body, from)
      const guard = nosniff ? { 'X-Content-Type-Options': 'nosniff' } : {}
      return { ...answer, headers: { 'Content-Type': contentType, ...guard } }
    },
  }

  async start(): Promise<void> {
    const saved = Number(await this.#seams.folder.read('heartbeat'))
    this.#savedHeartbeat = Number.isSafeInteger(saved) && saved > 0 ? saved : undefined
    const epoch = Number(await this.#seams.folder.read('epoch'))
    this.#savedEpoch = Number.isSafeInteger(epoch) && epoch > 0 && epoch <= MAX_EPOCH ? epoch : 0
    this.#isStarted = true
    this.#follow()
  }

  resumed(): void {
    this.#engine?.resumed()
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#majorityCall.stop()
    await this.#engine?.leave()
    await this.#engine?.stop()
    this.#seams.transport.close()
  }

  /** Zone or keys changed: begin, or go on with what is new. */
  #follow(): void {
    const { nodeList, keys } = this.#seams.store
    const { roster } = nodeList.current
    const { ring } = keys.current
    if (roster === undefined || ring === undefined) return
    if (!this.#isStarted || this.#stopping !== undefined) return
    const engine = this.#engine
    if (engine === undefined) {
      this.#engine = this.#makeEngine({ roster, keys: ring })
      this.#publishRecords(this.#engine)
      this.#publishOwnState()
      this.#engine.start()
      return
    }
    engine.setKeys(ring)
    // Called for each Node that a watch reports; a vote over the same members has nothing new to count.
    if (engine.table.roster === roster) return
    engine.setRoster(roster)
    this.#publishRecords(engine)
  }

  #makeEngine(start: Pick<EngineStart, 'roster' | 'keys'>): Engine {
    const { clock, random, log, transport, store, folder, suspension, topology } = this.#seams
    return new Engine(
      this.#options,
      {
        ...{ ...start, savedHeartbeat: this.#savedHeartbeat, topology },
        ...{ savedEpoch: this.#savedEpoch, identities: store.identities.current },
      },
      {
        ...{ clock, random, log, transport },
        saveHeartbeat: heartbeat => void folder.write('heartbeat', String(heartbeat)),
        saveEpoch: epoch => void folder.write('epoch', String(epoch)),
        onUnknownIdentity: name => store.unknownIdentity.emit(name),
        onEvidence: news => store.evidence.emit(news),
        onSuspect: name => store.probeNow.emit(name),
        onSuspended: () => suspension.reportedBy('peers'),
        localUp: index => store.zone.current?.judgement.localUp[index] !== 0,
      },
    )
  }

  #publishRecords(engine: Engine): void {
    const { table } = engine
    const signerAt = (target: number) => engine.signerAt(target)
    const holderAt = (target: number, since: number) => engine.holderAt(target, since)
    const records = { roster: table.roster, table, signerAt, holderAt }
    this.#seams.store.records.set(Object.freeze(records))
  }

  #about(name: string, act: (index: number) => void): void {
    const index = this.#engine?.table.roster.indexOf(name)
    if (index !== undefined) act(index)
  }

  #takeRound({ target, vote, failedRounds }: RoundOutcome): void {
    this.#about(target, index =>
      this.#vote(index, vote, vote === 'not-looked' ? HELD : failedRounds),
    )
  }

  #endVote({ target, why }: EndedVote): void {
    this.#about(target, index => {
      if (why === 'not-probed') this.#engine!.forgetOwnVote(index)
      else if (this.#engine!.table.failedRounds[index]! !== -1) this.#vote(index, 'not-looked', -1)
    })
  }

  #vote(index: number, says: Vote, failedRounds: number): void {
    const engine = this.#engine!
    const before = engine.table.failedRounds[index]
    const isFlip = engine.setOwnVote(index, says, failedRounds)
    const isNews = isFlip || engine.table.failedRounds[index] !== before
    this.#seams.store.evidence.emit(isNews ? 'changed' : 'fresher')
  }

  /** A vote may change how often we exchange, and what our record says of this node. */
  #afterVote({ changes, state }: VoteOutcome): void {
    this.#majorityCall.review(state)
    this.#engine?.setBurst(changes.burst)
    this.#publishOwnState()
  }

  /** Everything that the own record says of its node. */
  #publishOwnState(): void {
    const { ownNode, zone } = this.#seams.store
    const { kubelet, cloudLink, isWarming } = ownNode.current
    const isCut = cloudLink.state === 'cut'
    const flags =
      KUBELET_FLAG[kubelet] |
      (isCut ? FLAG.cloudCut : 0) |
      (isWarming ? FLAG.warming : 0) |
      (zone.current?.judgement.selfSuspect === true ? FLAG.selfSuspect : 0) |
      (this.#stopping === undefined ? 0 : FLAG.leaving)
    this.#engine?.setOwnFlags(flags, isCut ? cloudLink.since : -Infinity)
  }
}

/** *Commun*: own rounds and peers' messages → the records of the zone. */
export const makeExchangeStage = (options: AgentOptions, seams: ExchangeSeams): ExchangeStage =>
  new ZoneExchange(options, seams)
