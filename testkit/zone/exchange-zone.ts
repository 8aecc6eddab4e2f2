// SPDX-License-Identifier: Apache-2.0
import { Engine, type EngineStart } from '../../agent/stages/exchange/engine.js'
import type { EngineOptions } from '../../agent/stages/exchange/seams.js'
import { makeKeyRing, type KeyRing } from '../../agent/key-ring.js'
import { parseNodeName, parseZoneName, type NodeName } from '../../core/ids.js'
import { makeRoster, type Member, type Roster } from '../../core/roster.js'
import { FakeClock, settleOnce } from '../fake-clock.js'
import { MemoryNetwork, type NetworkOptions } from './memory-network.js'
import { recordingLog } from '../recording-log.js'
import { seededRandom } from '../seeded-random.js'

/** The default profile. */
export const exchangeOptions: EngineOptions = {
  clusterId: 'test',
  exchangePeriodMs: 5_000,
  ringExchangePeriodMs: 2_000,
  meshMax: 64,
  ringObservers: 10,
  burstPeriodMs: 500,
  burstMs: 15_000,
  exchangeTimeoutMs: 2_000,
  pushBatchMs: 50,
  partnerBackoffMs: 15_000,
  identity: 'off',
  linkSlotMs: 1_000,
  superedgePeers: 'off',
  superedgePeriodMs: 10_000,
  superedgeAttempts: 1,
  port: 51005,
  recordTtlMs: 60_000,
}

export const KEY_A = 'key-a-0123456789abcdef'
export const KEY_B = 'key-b-0123456789abcdef'

export const zoneName = parseZoneName('z')
export const memberAt = (i: number): Member => ({
  name: parseNodeName(`n${i}`),
  address: `10.0.${i >> 8}.${i & 255}`,
})
export const membersTo = (n: number): Member[] => Array.from({ length: n }, (_, i) => memberAt(i))
export const rosterOf = (self: number, members: readonly Member[]): Roster =>
  makeRoster(zoneName, memberAt(self).name, members)

/** One agent's exchange in a test, with what it was told. */
export interface TestAgent {
  readonly n: number
  readonly address: string
  readonly engine: Engine
  readonly suspected: NodeName[]
  readonly saved: number[]
  /** Whose keys it asked for. */
  readonly unknown: NodeName[]
  readonly log: ReturnType<typeof recordingLog>
  evidence: number
  /** The agent as others see it after a kill: nobody listens. */
  readonly kill: () => void
  /** Set the own vote on node n`target`. */
  readonly vote: (target: number, isDown: boolean) => void
  /** This agent holds that `voter` says `target` is down. */
  readonly knows: (voter: number, target: number) => boolean
  readonly index: (n: number) => number
}

interface AgentOptions extends Partial<EngineStart> {
  /** Where it is, if not at the address of its node. */
  readonly address?: string
  readonly o?: Partial<EngineOptions>
  readonly members?: readonly Member[]
  readonly localUp?: (target: number) => boolean
  readonly keys?: KeyRing
}

/** A zone of exchanges on one clock and one network. Node i is `n<i>` at 10.0.x.y. */
export class ExchangeZone {
  readonly clock: FakeClock
  readonly network: MemoryNetwork
  readonly agents: TestAgent[] = []
  readonly members: readonly Member[]
  #seed: number

  constructor(size: number, seed = 1, network: NetworkOptions = {}) {
    this.#seed = seed
    this.clock = new FakeClock(undefined, undefined, { settle: settleOnce })
    this.network = new MemoryNetwork(this.clock, seededRandom(seed), network)
    this.members = membersTo(size)
  }

  /** Start an agent on each node. */
  startAll(options: AgentOptions = {}): this {
    this.members.forEach((_, n) => this.start(n, options))
    return this
  }

  start(n: number, options: AgentOptions = {}): TestAgent {
    const { address = memberAt(n).address } = options
    const log = recordingLog()
    const suspected: NodeName[] = []
    const saved: number[] = []
    const unknown: NodeName[] = []
    const engine = new Engine(
      { ...exchangeOptions, ...options.o },
      {
        roster: options.roster ?? rosterOf(n, options.members ?? this.members),
        keys: options.keys ?? makeKeyRing(KEY_A),
        ...{ savedHeartbeat: options.savedHeartbeat, savedEpoch: options.savedEpoch },
        identities: options.identities,
        ...(options.topology === undefined ? {} : { topology: options.topology }),
      },
      {
        transport: this.network.transport(address),
        clock: this.clock,
        random: seededRandom(this.#seed++ * 7919 + n),
        log,
        onEvidence: () => agent.evidence++,
        onSuspect: name => suspected.push(name),
        onSuspended: () => undefined,
        saveHeartbeat: value => saved.push(value),
        saveEpoch: () => undefined,
        onUnknownIdentity: name => unknown.push(name),
        localUp: options.localUp ?? (() => true),
      },
    )
    const unlisten = this.network.listen(address, (route, body, from) =>
      engine.receive(route, body, from),
    )
    const index = (i: number): number => engine.table.roster.indexOf(memberAt(i).name)!
    const agent: TestAgent = {
      n,
      address,
      engine,
      suspected,
      saved,
      unknown,
      log,
      evidence: 0,
      kill: () => {
        unlisten()
        void engine.stop()
      },
      vote: (target, isDown) => {
        engine.setOwnVote(index(target), isDown ? 'down' : 'up', isDown ? 1 : 0)
      },
      knows: (voter, target) => engine.table.saysDown(index(voter), index(target)),
      index,
    }
    this.agents[n] = agent
    engine.start()
    return agent
  }

  /** Advance until `isSo`, in small steps. @returns ms that it took, or Infinity. */
  async until(isSo: () => boolean, withinMs: number, stepMs = 50): Promise<number> {
    for (let ms = 0; ms <= withinMs; ms += stepMs) {
      if (isSo()) return ms
      await this.clock.advance(stepMs)
    }
    return Infinity
  }

  async stop(): Promise<void> {
    await Promise.all(this.agents.map(agent => agent.engine.stop()))
  }
}
