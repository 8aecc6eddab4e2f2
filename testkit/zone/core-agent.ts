// SPDX-License-Identifier: Apache-2.0
import { ApiBackoff } from '../../agent/api-backoff.js'
import type { makeKeyRing } from '../../agent/key-ring.js'
import type { AgentOptions } from '../../agent/options/agent-options.js'
import type { Topology } from '../../agent/records/topology.js'
import type { RoundOutcome, ZoneState } from '../../agent/results.js'
import { makeCheckStage, type CheckStage } from '../../agent/stages/check/stage.js'
import { makeExchangeStage, type ExchangeStage } from '../../agent/stages/exchange/stage.js'
import { makeVoteStage, type VoteStage } from '../../agent/stages/vote/stage.js'
import { desiredMarksFor } from '../../agent/stages/write/desired-marks.js'
import { makeResultStore, type ResultStore } from '../../agent/store.js'
import type { StateName } from '../../agent/state-folder.js'
import { TurnLoop } from '../../agent/turn-loop.js'
import { sleep } from '../../core/clock.js'
import { parseNodeName } from '../../core/ids.js'
import type { Member, Roster } from '../../core/roster.js'
import type { Changes } from '../../vote/judge.js'
import { majoritySpokeAt } from '../../vote/majority.js'
import { writeAt, writerRank } from '../../vote/writer.js'
import type { FakeClock } from '../fake-clock.js'
import type { seededRandom } from '../seeded-random.js'
import type { TestIdentities } from './identities.js'
import type { MemoryNetwork } from './memory-network.js'

/** A mark that an agent put on a node or took off it. */
export interface MarkWrite {
  readonly at: number
  readonly by: number
  readonly node: number
  readonly isDead: boolean
}

/** What a measurement wants to hear of. Nodes and agents are numbers, not roster indices. */
export interface Watcher {
  round?(by: number, outcome: RoundOutcome): void
  /** After each vote that changed something, or while something is contested. */
  vote?(by: number, state: ZoneState, changes: Changes): void
  wrote?(write: MarkWrite): void
}

/** As the agent's writer does. */
const BACKING_MS = 500

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

export const memberOf = (n: number): Member => ({
  name: parseNodeName(`n${n}`),
  address: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
})

/** There is no Kubernetes here. */
const nowhere = (): Promise<never> => Promise.reject(new Error('no apiserver'))
const kube = {
  ...{ ping: nowhere, getLease: nowhere, tryRenewal: nowhere },
  ...{ renewAgentLease: nowhere, server: nowhere, reconnect: () => undefined },
}
const folder = {
  read: () => Promise.resolve(undefined),
  write: () => Promise.resolve(),
  troubles: new Map<StateName, string>(),
}
/** Nobody is suspended here. */
const suspension = { look: () => undefined, reportedBy: () => undefined }

/** The zone as one of its agents needs it. */
export interface CoreWorld {
  readonly clock: FakeClock
  readonly network: MemoryNetwork
  readonly options: AgentOptions
  readonly keys: ReturnType<typeof makeKeyRing>
  /** Undefined where nodes have no keys of their own. */
  readonly identities: TestIdentities | undefined
  /** Nodes that carry the mark of a dead node. */
  readonly marked: ReadonlySet<number>
  readonly watcher: Watcher
  readonly topology: (roster: Roster) => Topology
  makeRandom(): ReturnType<typeof seededRandom>
  nodeAt(roster: Roster, index: number): number
  mark(write: MarkWrite): void
}

/** One agent without HTTP and Kubernetes. */
export class CoreAgent {
  readonly n: number
  readonly store: ResultStore
  readonly check: CheckStage
  readonly exchange: ExchangeStage
  readonly #vote: VoteStage
  readonly #loop: TurnLoop
  readonly #zone: CoreWorld
  readonly #stop = new AbortController()
  /** Running turns to write, by node. */
  readonly #turns = new Map<number, () => void>()
  isStopped = false

  constructor(core: CoreWorld, n: number, roster: Roster) {
    this.n = n
    this.#zone = core
    const { clock, network } = core
    const { name, address } = memberOf(n)
    const options: AgentOptions = { ...core.options, nodeName: name, witness: 'none' }
    const store = makeResultStore(clock.now())
    this.store = store
    const random = core.makeRandom()
    this.#loop = new TurnLoop({ clock, store, suspension })
    const seams = {
      ...{ clock, random, log: silent, store, kube, folder, suspension, turns: this.#loop },
      ...{ transport: network.transport(address), topology: core.topology },
      apiBackoff: new ApiBackoff({ clock, random }),
      probes: {
        dial: network.dial(address),
        http: network.httpGet(address, () => 200),
        readFile: () => Promise.reject(new Error('no file')),
      },
    }
    this.exchange = makeExchangeStage(options, seams)
    this.check = makeCheckStage(options, seams)
    this.#vote = makeVoteStage(options, seams)
    this.#loop.start(this.#vote, { review: () => undefined, isIdle: true })
    store.round.subscribe(outcome => core.watcher.round?.(n, outcome))
    store.vote.subscribe(({ changes, state }) => {
      const isMove = changes.state || changes.verdict.length > 0 || changes.local.length > 0
      if (isMove || changes.burst) core.watcher.vote?.(n, state, changes)
      if (isMove) this.#reviewWrites(state)
    })
    store.ownNode.set({ ...store.ownNode.current, kubelet: 'well' })
    store.keys.set({ ring: core.keys, problem: undefined })
    if (core.identities !== undefined) store.identities.set(core.identities.of(name))
    this.setRoster(roster)
    void this.exchange.start()
    void this.#rounds(random.below(options.votePeriodMs))
  }

  get state(): ZoneState {
    return this.store.zone.current!
  }

  async #rounds(firstMs: number): Promise<void> {
    let waitMs = firstMs
    while (await sleep(this.#zone.clock, waitMs, this.#stop.signal)) {
      waitMs = this.#zone.options.votePeriodMs
      this.#loop.round()
    }
  }

  setRoster(roster: Roster): void {
    const { nodeList } = this.store
    nodeList.set({ ...nodeList.current, roster })
  }

  /** The writer's rules without its API: whoever's turn it is marks what is not marked yet. */
  #reviewWrites(state: ZoneState): void {
    for (let index = 0; index < state.table.size; index++) {
      const desired = desiredMarksFor(state, index)
      const node = this.#zone.nodeAt(state.roster, index)
      const differs = desired !== 'keep' && (desired === 'dead') !== this.#zone.marked.has(node)
      if (differs && !this.#turns.has(node)) this.#planWrite(state, index, node)
      if (!differs) this.#cancelTurn(node)
    }
  }

  #cancelTurn(node: number): void {
    this.#turns.get(node)?.()
    this.#turns.delete(node)
  }

  #planWrite({ judgement, table, roster, ranking }: ZoneState, index: number, node: number): void {
    const { clock, options } = this.#zone
    const target = { index, id: roster.members[index]!.id }
    const rank = writerRank(judgement, table, target, ranking)
    if (rank === undefined) return
    const since = clock.now()
    const look = (): void => {
      if (!this.#write(node, since)) this.#turns.set(node, clock.after(BACKING_MS, look))
    }
    this.#turns.set(node, clock.after(writeAt(0, { rank, heard: 0 }, options), look))
  }

  /** @returns false when it has to wait for a majority. */
  #write(node: number, since: number): boolean {
    const { state } = this
    const index = state.roster.indexOf(memberOf(node).name)
    const desired = this.isStopped || index === undefined ? 'keep' : desiredMarksFor(state, index)
    const isDead = desired === 'dead'
    const isOver = desired === 'keep' || isDead === this.#zone.marked.has(node)
    const isConfirmed = isDead || majoritySpokeAt(state.judgement, state.table) > since
    if (!isOver && !isConfirmed) return false
    this.#turns.delete(node)
    if (!isOver) this.#zone.mark({ at: this.#zone.clock.now(), by: this.n, node, isDead })
    return true
  }

  async stop(): Promise<void> {
    this.isStopped = true
    this.#stop.abort()
    this.#loop.stop()
    for (const node of [...this.#turns.keys()]) this.#cancelTurn(node)
    for (const stage of [this.#vote, this.check, this.exchange]) await stage.stop()
  }
}
