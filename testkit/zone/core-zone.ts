// SPDX-License-Identifier: Apache-2.0
import { makeKeyRing } from '../../agent/key-ring.js'
import { topologyFor } from '../../agent/records/kring.js'
import type { Topology } from '../../agent/records/topology.js'
import type { AgentOptions } from '../../agent/options/agent-options.js'
import { resolveAgentOptions } from '../../agent/options/resolve.js'
import { parseZoneName } from '../../core/ids.js'
import { makeRoster, type Roster } from '../../core/roster.js'
import { FakeClock, settleOnce } from '../fake-clock.js'
import { CoreAgent, memberOf, type CoreWorld, type MarkWrite, type Watcher } from './core-agent.js'
import { TestIdentities } from './identities.js'
import { MemoryNetwork, type NetworkOptions } from './memory-network.js'
import { Observer, type Truth } from './observer.js'
import { seededRandom } from '../seeded-random.js'

export interface CoreZoneOptions extends NetworkOptions {
  readonly seed?: number
  readonly profile?: 'default' | 'fast'
  readonly flags?: readonly string[]
  /** All nodes have keys of their own and know each other's; agents use them as their `--identity` says. @default false */
  readonly hasIdentities?: boolean
}

const WATCH_MS = 500

const zone = parseZoneName('z')

/**
 * Many agents' check, exchange and vote, as production runs them, on a virtual clock and a network in memory. Much
 * faster than a `World`: no Kubernetes, no HTTP, timers on a grid of milliseconds, and what does not depend on the
 * agent (rosters, rings) is built once for all.
 */
export class CoreZone implements CoreWorld {
  readonly clock = new FakeClock(1_000, Date.UTC(2026, 0, 1), { gridMs: 1, settle: settleOnce })
  readonly network: MemoryNetwork
  readonly options: AgentOptions
  readonly keys = makeKeyRing('a key of the test world')
  readonly identities: TestIdentities | undefined
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
    if (o.hasIdentities === true)
      this.identities = new TestIdentities(this.#roster.members.map(({ name }) => name))
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
