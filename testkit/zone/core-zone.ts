// SPDX-License-Identifier: Apache-2.0
import { makeKeyRing } from '../../agent/key-ring.js'
import { topologyFor } from '../../agent/records/kring.js'
import type { Topology } from '../../agent/records/topology.js'
import type { AgentOptions } from '../../agent/options/agent-options.js'
import { resolveAgentOptions } from '../../agent/options/resolve.js'
import { ApiBackoff } from '../../agent/api-backoff.js'
import type { RoundOutcome, ZoneState } from '../../agent/results.js'
import { makeCheckStage, type CheckStage } from '../../agent/stages/check/stage.js'
import { makeExchangeStage, type ExchangeStage } from '../../agent/stages/exchange/stage.js'
import { makeVoteStage, type VoteStage } from '../../agent/stages/vote/stage.js'
import { makeResultStore, type ResultStore } from '../../agent/store.js'
import { TurnLoop } from '../../agent/turn-loop.js'
import { desiredMarksFor } from '../../agent/stages/write/desired-marks.js'
import { sleep } from '../../core/clock.js'
import { parseNodeName, parseZoneName } from '../../core/ids.js'
import { makeRoster, type Member, type Roster } from '../../core/roster.js'
import type { Changes } from '../../vote/judge.js'
import { majoritySpokeAt } from '../../vote/majority.js'
import { writeAt, writerRank } from '../../vote/writer.js'
import { FakeClock, settleOnce } from '../fake-clock.js'
import { MemoryNetwork, type NetworkOptions } from './memory-network.js'
import { Observer, type Truth } from './observer.js'
import { seededRandom } from '../seeded-random.js'

export interface CoreZoneOptions extends NetworkOptions {
  readonly seed?: number
  readonly profile?: 'default' | 'fast'
  readonly flags?: readonly string[]
}

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
  /** After each vote that moved something, or that has something under way. `indexOf` leads from a node to its roster index there. */
  vote?(by: number, state: ZoneState, changes: Changes): void
  wrote?(write: MarkWrite): void
}

/** As the agent's writer does. */
const BACKING_MS = 500
const WATCH_MS = 500

const zone = parseZoneName('z')
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
const kube = { ping: nowhere, getLease: nowhere, renewAgentLease: nowhere, server: nowhere }
const folder = { read: () => Promise.resolve(undefined), write: () => Promise.resolve() }
/** Nobody is suspended here. */
const suspension = { look: () => undefined, reportedBy: () => undefined }

/** One agent without HTTP and Kubernetes. */
class CoreAgent {
  readonly n: number
  readonly store: ResultStore
  readonly check: CheckStage
  readonly exchange: ExchangeStage
  readonly #vote: VoteStage
  readonly #loop: TurnLoop
  readonly #zone: CoreZone
  readonly #stop = new AbortController()
  /** Running turns to write, by node. */
  readonly #turns = new Map<number, () => void>()
  isStopped = false

  constructor(core: CoreZone, n: number, roster: Roster) {
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
    this.#loop.start(this.#vote, { review: () => '' })
    store.round.subscribe(outcome => core.watcher.round?.(n, outcome))
    store.vote.subscribe(({ changes, state }) => {
      const isMove = changes.state || changes.verdict.length > 0 || changes.local.length > 0
      if (isMove || changes.burst) core.watcher.vote?.(n, state, changes)
      if (isMove) this.#reviewWrites(state)
    })
    store.ownNode.set({ ...store.ownNode.current, kubelet: 'well' })
    store.keys.set({ ring: core.keys, problem: undefined })
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
      this.#loop.take()
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

  #planWrite({ judgement, table, roster }: ZoneState, index: number, node: number): void {
    const { clock, options, ids } = this.#zone
    const target = { index, id: roster.members[index]!.id }
    const rank = writerRank(judgement, table, target, ids(roster))
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

/**
 * Many agents' check, exchange and vote, as production runs them, on a virtual clock and a network in memory. Much
 * faster than a `World`: no Kubernetes, no HTTP, timers on a grid of milliseconds, and what does not depend on the
 * agent (rosters, rings) is built once for all.
 */
export class CoreZone {
  readonly clock = new FakeClock(1_000, Date.UTC(2026, 0, 1), { gridMs: 1, settle: settleOnce })
  readonly network: MemoryNetwork
  readonly options: AgentOptions
  readonly keys = makeKeyRing('a key of the test world')
  readonly agents: (CoreAgent | undefined)[] = []
  /** Nodes that carry the mark of a dead node. */
  readonly marked = new Set<number>()
  readonly writes: MarkWrite[] = []
  watcher: Watcher = {}
  /** Sees what is true, and notes what must never happen; looks during `run`, `watch` and `until`. */
  readonly observer = new Observer(this.#zoneUnderTest())
  #size: number
  #seeds: number
  #roster: Roster
  readonly #topologies = new Map<bigint, Topology>()
  readonly #ids = new Map<bigint, readonly bigint[]>()
  readonly #unlisten: (() => void)[] = []

  constructor(size: number, o: CoreZoneOptions = {}) {
    const seed = o.seed ?? 1
    this.#size = size
    this.#seeds = seed * 1_000_003
    this.network = new MemoryNetwork(this.clock, seededRandom(seed), o)
    const flags = ['--node-name=n0', `--profile=${o.profile ?? 'default'}`, ...(o.flags ?? [])]
    this.options = resolveAgentOptions({
      flags: flags.map(flag => {
        const [name, text] = flag.slice(2).split('=') as [string, string]
        return { name, text }
      }),
      env: {},
    }).options
    this.#roster = this.#makeRoster()
  }

  get size(): number {
    return this.#size
  }

  makeRandom(): ReturnType<typeof seededRandom> {
    return seededRandom(7_919 * ++this.#seeds)
  }

  readonly topology = (roster: Roster): Topology => {
    const known = this.#topologies.get(roster.hash)
    if (known !== undefined) return known
    const made = topologyFor(this.options)(roster)
    this.#topologies.set(roster.hash, made)
    return made
  }

  readonly ids = (roster: Roster): readonly bigint[] => {
    const known = this.#ids.get(roster.hash) ?? roster.members.map(({ id }) => id)
    this.#ids.set(roster.hash, known)
    return known
  }

  nodeAt(roster: Roster, index: number): number {
    return Number(roster.members[index]!.name.slice(1))
  }

  #makeRoster(): Roster {
    const members = Array.from({ length: this.#size }, (_, n) => memberOf(n))
    return makeRoster(zone, memberOf(0).name, members)
  }

  #rosterOf(n: number): Roster {
    return Object.freeze({ ...this.#roster, self: this.#roster.indexOf(memberOf(n).name)! })
  }

  boot(n: number): void {
    const agent = new CoreAgent(this, n, this.#rosterOf(n))
    this.agents[n] = agent
    const { address } = memberOf(n)
    this.network.powerOn(address)
    this.#unlisten[n] = this.network.listen(address, (route, body, from) => {
      const answer = agent.exchange.inbox.receive(route, body, from)
      return { status: answer.status, body: Buffer.from(answer.body) }
    })
  }

  bootAll(): void {
    for (let n = 0; n < this.#size; n++) if (this.agents[n] === undefined) this.boot(n)
  }

  /** Power off: nothing answers any more, nothing is said. */
  crash(n: number): void {
    this.network.powerOff(memberOf(n).address)
    this.#unlisten[n]?.()
    void this.agents[n]?.stop()
    this.agents[n] = undefined
  }

  partition(...groups: readonly (readonly number[])[]): void {
    this.network.partition(...groups.map(group => group.map(n => memberOf(n).address)))
  }

  /** The zone has so many nodes from now on; agents hear of it one after the other within `spreadMs`. */
  resize(size: number, spreadMs = 0): void {
    const before = this.#size
    this.#size = size
    this.#roster = this.#makeRoster()
    for (let n = size; n < before; n++) this.crash(n)
    for (let n = 0; n < Math.min(before, size); n++) {
      const roster = this.#rosterOf(n)
      this.clock.after((spreadMs * n) / size, () => this.agents[n]?.setRoster(roster))
    }
  }

  mark(write: MarkWrite): void {
    if (write.isDead) this.marked.add(write.node)
    else this.marked.delete(write.node)
    this.writes.push(write)
    this.watcher.wrote?.(write)
  }

  /** Nodes that `/localinfo` of this agent calls down. */
  downFrom(n: number): number[] {
    const agent = this.agents[n]
    if (agent === undefined) return []
    const { judgement, roster } = agent.state
    const down: number[] = []
    judgement.localUp.forEach((up, index) => {
      if (up === 0) down.push(this.nodeAt(roster, index))
    })
    return down.sort((a, b) => a - b)
  }

  /** Whether `/localinfo` of this agent calls the node down. */
  isDownFrom(n: number, node: number): boolean {
    const state = this.agents[n]?.state
    const index = state?.roster.indexOf(memberOf(node).name)
    return index !== undefined && state?.judgement.localUp[index] === 0
  }

  /** Let time pass, with the observer looking on. */
  async run(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= WATCH_MS) {
      await this.clock.advance(Math.min(left, WATCH_MS))
      this.observer.look()
    }
  }

  /** Let time pass until it is so. @returns how long that took; undefined when the limit was not enough. */
  async until(isSo: () => boolean, limitMs: number): Promise<number | undefined> {
    for (let ms = 0; ms <= limitMs; ms += WATCH_MS) {
      if (isSo()) return ms
      await this.run(WATCH_MS)
    }
    return undefined
  }

  /** Let time pass; every half second each live agent's view is held against what is right. @returns what was not. */
  async watch(
    ms: number,
    isRight: (n: number, down: readonly number[]) => boolean,
  ): Promise<string[]> {
    const wrong: string[] = []
    for (let at = 0; at < ms; at += WATCH_MS) {
      await this.run(WATCH_MS)
      for (const n of this.live) {
        const down = this.downFrom(n)
        if (!isRight(n, down)) wrong.push(`${at} ms: n${n} sees ${down.join()}`)
      }
    }
    return wrong
  }

  #truth(n: number): Truth {
    const agent = this.agents[n]
    const { name, address } = memberOf(n)
    const isOn = agent !== undefined
    return {
      ...{ name, address, isMember: n < this.#size, isSound: isOn, isTalking: isOn },
      down: isOn ? this.downFrom(n).map(node => memberOf(node).name) : undefined,
      brake: agent?.state.judgement.brake === true,
    }
  }

  #zoneUnderTest(): ConstructorParameters<typeof Observer>[0] {
    const zone = this as CoreZone
    return {
      now: () => zone.clock.now(),
      nodes: () => zone.agents.map((_, n) => zone.#truth(n)),
      canReach: (from, to) => zone.network.canReach(from, to),
      get writes() {
        return zone.writes.map(({ at, by, node, isDead }) => ({
          ...{ at, by: memberOf(by).name, node: memberOf(node).name, kind: 'status' as const },
          ...{ mark: [!isDead, isDead] as const, isChange: true },
        }))
      },
    }
  }

  /** Live agents' numbers. */
  get live(): number[] {
    return Array.from({ length: this.#size }, (_, n) => n).filter(n => this.agents[n] !== undefined)
  }

  async stop(): Promise<void> {
    for (const n of this.live) void this.agents[n]?.stop()
    await this.clock.advance(5_000)
  }
}
