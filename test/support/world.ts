// SPDX-License-Identifier: Apache-2.0
import { makeAgent, type Agent } from '../../agent/agent.js'
import type { AgentOptions } from '../../agent/options/agent-options.js'
import { resolveAgentOptions } from '../../agent/options/resolve.js'
import type { Scheduler } from '../../agent/scheduler.js'
import type { StateFolder, StateName } from '../../agent/state-folder.js'
import { sleep, type Clock } from '../../core/clock.js'
import { FakeClock } from './fake-clock.js'
import { FakeCluster } from './fake-cluster.js'
import { MemoryNetwork, type NetworkOptions } from './memory-network.js'
import { recordingLog } from './recording-log.js'
import { seededRandom } from './seeded-random.js'

/** Rounds by the monotonic clock: what the cron scheduler comes to when the wall clock stands still. */
const clockScheduler = (clock: Clock): Scheduler => ({
  every: (_, periodMs, signal, round) => {
    const loop = async (): Promise<void> => {
      while (await sleep(clock, periodMs, signal)) await round()
    }
    void loop()
  },
})

/** A disk that outlives its agent. */
const memoryFolder = (files: Map<StateName, string>): StateFolder => ({
  read: async name => files.get(name),
  write: async (name, text) => {
    files.set(name, text)
  },
  retry: async () => undefined,
  settled: async () => undefined,
  troubles: new Map(),
})

export type Health = 'well' | 'sick' | 'silent'

interface Machine {
  readonly name: string
  readonly address: string
  readonly disk: Map<StateName, string>
  readonly log: ReturnType<typeof recordingLog>
  agent: Agent | undefined
  unlisten: () => void
  kubelet: Health
  /** The kubelet's own Lease renewals. */
  stopLease: () => void
}

export interface WorldOptions extends NetworkOptions {
  readonly seed?: number
  readonly flags?: readonly string[]
  readonly profile?: 'default' | 'fast'
}

export const addressOfNode = (index: number): string => `10.0.${index >> 8}.${(index & 255) + 1}`

const LEASE_SECONDS = 40

/** A whole zone on virtual time: real agents, a network that loses and cuts, a cluster in memory. */
export class World {
  readonly clock = new FakeClock()
  readonly cluster: FakeCluster
  readonly network: MemoryNetwork
  readonly machines: Machine[] = []
  readonly #o: WorldOptions
  #lives = 0

  constructor(size: number, o: WorldOptions = {}) {
    this.#o = o
    this.cluster = new FakeCluster(this.clock)
    this.network = new MemoryNetwork(this.clock, seededRandom(o.seed ?? 1), o)
    this.cluster.put('secret', 'edge-health-keys', { data: { primary: 'a key of the test world' } })
    for (let index = 0; index < size; index++) this.#addMachine(index)
  }

  #addMachine(index: number): void {
    const name = `n${index}`
    const address = addressOfNode(index)
    this.machines.push({
      ...{ name, address, disk: new Map(), log: recordingLog() },
      ...{
        agent: undefined,
        unlisten: () => undefined,
        kubelet: 'well',
        stopLease: () => undefined,
      },
    })
    this.cluster.put('node', name, {
      apiVersion: 'v1',
      kind: 'Node',
      spec: {},
      status: {
        addresses: [{ type: 'InternalIP', address }],
        conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
      },
    })
    this.cluster.put('lease', name, {
      spec: {
        holderIdentity: name,
        leaseDurationSeconds: LEASE_SECONDS,
        renewTime: '2026-01-01T00:00:00.000000Z',
      },
    })
  }

  machine(index: number): Machine {
    return this.machines[index]!
  }

  optionsOf(machine: Machine): AgentOptions {
    const flags = [
      `--node-name=${machine.name}`,
      `--profile=${this.#o.profile ?? 'default'}`,
      ...(this.#o.flags ?? []),
    ].map(flag => flag.slice(2).split('=') as [string, string])
    const byName: Record<string, string> = {}
    for (const [name, value] of flags) byName[name] = value
    return resolveAgentOptions({
      flags: Object.entries(byName).map(([name, text]) => ({ name, text })),
      env: {},
    }).options
  }

  /** Boot an agent; it takes what its disk remembers. */
  boot(index: number): void {
    const machine = this.machine(index)
    const { address, log, disk } = machine
    const { clock, network, cluster } = this
    const random = seededRandom(7_919 * ++this.#lives + (this.#o.seed ?? 1))
    const agent = makeAgent(this.optionsOf(machine), {
      ...{ clock, random, log, version: 'test', setVerbosity: () => undefined },
      scheduler: clockScheduler(clock),
      kube: cluster.api(machine.name),
      transport: network.transport(address),
      folder: memoryFolder(disk),
      probes: {
        dial: network.dial(address),
        http: network.httpGet(address, url => this.#answerOf(machine, url)),
        readFile: () => Promise.reject(new Error('no file')),
      },
    })
    machine.agent = agent
    machine.unlisten = network.listen(address, (route, body, from) => {
      const answer = agent.inbox.receive(route, body, from)
      return { status: answer.status, body: Buffer.from(answer.body) }
    })
    machine.stopLease = this.#renewLease(machine)
    void agent.start()
  }

  /** What a kubelet answers: its own node on loopback, others with 401 as one without TokenReview does. */
  #answerOf(asker: Machine, url: URL): number | undefined {
    if (url.hostname === '127.0.0.1') {
      return asker.kubelet === 'well' ? 200 : asker.kubelet === 'sick' ? 500 : undefined
    }
    const target = this.machines.find(machine => machine.address === url.hostname)
    return target === undefined || target.kubelet === 'silent' ? undefined : 401
  }

  #renewLease(machine: Machine): () => void {
    const stop = new AbortController()
    const api = this.cluster.api(machine.name)
    const loop = async (): Promise<void> => {
      do {
        const renewTime = new Date(this.clock.wall()).toISOString().replace('Z', '000Z')
        if (machine.kubelet === 'well')
          await api
            .patchLease(machine.name, { type: 'merge', body: { spec: { renewTime } } }, stop.signal)
            .catch(() => undefined)
      } while (await sleep(this.clock, 10_000, stop.signal))
    }
    void loop()
    return () => stop.abort()
  }

  bootAll(): void {
    for (let index = 0; index < this.machines.length; index++) this.boot(index)
  }

  /** All agents run and everybody agrees that all is well. */
  async settled(): Promise<void> {
    this.bootAll()
    await this.clock.advance(60_000)
  }

  /** Power off: nothing answers any more, nothing is said. */
  crash(index: number): void {
    const machine = this.machine(index)
    this.network.powerOff(machine.address)
    machine.unlisten()
    machine.stopLease()
    const { agent } = machine
    machine.agent = undefined
    machine.kubelet = 'silent'
    // The process is gone: what it would still do reaches nobody.
    this.cluster.cut(machine.name)
    void agent?.stop()
  }

  /** Power on again, with the disk as it was. */
  repair(index: number): void {
    const machine = this.machine(index)
    machine.kubelet = 'well'
    this.cluster.heal(machine.name)
    this.network.powerOn(machine.address)
    this.boot(index)
  }

  /** A rolling update's step: the agent says goodbye, the node stays. */
  async restartAgent(index: number, downMs: number): Promise<void> {
    const machine = this.machine(index)
    const { agent } = machine
    machine.stopLease()
    const stopping = agent?.stop()
    await this.clock.advance(2_500)
    await stopping
    machine.unlisten()
    machine.agent = undefined
    await this.clock.advance(downMs)
    this.boot(index)
  }

  cutCloud(...indices: readonly number[]): void {
    for (const index of indices) this.cluster.cut(this.machine(index).name)
  }

  healCloud(...indices: readonly number[]): void {
    for (const index of indices) this.cluster.heal(this.machine(index).name)
  }

  partition(...groups: readonly (readonly number[])[]): void {
    this.network.partition(...groups.map(group => group.map(index => this.machine(index).address)))
  }

  /** Who `/localinfo` of this node calls down. */
  downFrom(index: number): string[] {
    const nodes = this.machine(index).agent?.views.localView().nodes ?? []
    return nodes.filter(node => !node.isUp).map(node => node.name)
  }

  /** Nodes that carry SuperEdge's mark. */
  condemned(): string[] {
    return this.machines
      .map(machine => machine.name)
      .filter(name => this.cluster.node(name).annotations['nodeunhealth'] === 'yes')
  }

  /** Writes to Nodes by agents since an instant, as `by>node/kind`. */
  writesSince(at: number): string[] {
    return this.cluster.writes
      .filter(write => write.at >= at && write.kind !== 'lease')
      .map(({ by, node, kind }) => `${by}>${node}/${kind}`)
  }

  get indices(): number[] {
    return this.machines.map((_, index) => index)
  }

  async stop(): Promise<void> {
    for (const machine of this.machines) machine.stopLease()
    const stopping = this.machines.map(machine => machine.agent?.stop())
    await this.clock.advance(10_000)
    await Promise.all(stopping.filter(each => each !== undefined))
  }
}
