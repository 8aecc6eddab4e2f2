// SPDX-License-Identifier: Apache-2.0
import { makeAgent, type Agent } from '../../agent/agent.js'
import type { Answer, Route } from '../../agent/ports/transport.js'
import { PeerListener } from '../../agent/http/peer-listener.js'
import type { PeerListenerStatus } from '../../agent/results.js'
import type { AgentOptions } from '../../agent/options/agent-options.js'
import { resolveAgentOptions } from '../../agent/options/resolve.js'
import type { Scheduler } from '../../agent/ports/scheduler.js'
import type { StateName } from '../../agent/state-folder.js'
import { UNIT_CONFIG, ZONE_CONFIG } from '../../agent/stages/node-list/zone-config.js'
import { UNIT_LABEL_VALUE, ZONE_LABEL } from '../../agent/stages/node-list/zone-rule.js'
import { sleep, type Clock } from '../../core/clock.js'
import type { HttpGet } from '../../core/dial.js'
import type { Listener } from '../../net/listen.js'
import { isLoopback } from '../../core/loopback.js'
import type { Random } from '../../core/random.js'
import { FakeClock, settleOnce, type Pace } from '../fake-clock.js'
import { FakeCluster } from './fake-cluster.js'
import { memoryFolder } from './memory-folder.js'
import { MemoryNetwork, type NetworkOptions } from './memory-network.js'
import { Observer, type Truth } from './observer.js'
import { ProcessClock, type Suspension, type WallClock } from '../process-clock.js'
import { recordingLog } from '../recording-log.js'
import { seededRandom } from '../seeded-random.js'

/** Rounds by the monotonic clock: what the cron scheduler comes to when the wall clock stands still. */
const clockScheduler = (clock: Clock): Scheduler => ({
  every: (_, periodMs, signal, round) => {
    const loop = async (): Promise<void> => {
      while (await sleep(clock, periodMs, signal)) await round()
    }
    void loop()
  },
})

/** How a kubelet is: it answers, says that it is bad, does not answer, or is well and has no healthz port. */
type Health = 'well' | 'sick' | 'silent' | 'portless'

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

const notBraked = (): boolean => false

/** Whether the brake of an agent holds: asked anew only after something that it shows has changed. */
const brakeOf = (agent: Agent): (() => boolean) => {
  let known: boolean | undefined
  agent.views.subscribe(() => (known = undefined))
  return () => (known ??= agent.views.zone().brake.isOn)
}

/** The address of a container bridge, which every machine has for itself. */
export const BRIDGE = '172.17.0.1'

/** An IPv4 address written as IPv6, as it stands in a URL. */
const mapped = (address: string): string => new URL(`http://[::ffff:${address}]`).hostname

const isWell = (kubelet: Health): boolean => kubelet === 'well' || kubelet === 'portless'

export interface Machine {
  readonly name: string
  readonly address: string
  readonly disk: Map<StateName, string>
  /** Files that the disk does not take, and why. */
  readonly diskTroubles: Map<StateName, string>
  readonly log: ReturnType<typeof recordingLog>
  readonly wall: WallClock
  /** What its agent can read, by path. */
  readonly files: Map<string, string>
  agent: Agent | undefined
  isBraked: () => boolean
  /** The agent's process and the kubelet's. */
  process: ProcessClock | undefined
  kubeletProcess: ProcessClock | undefined
  /** Options of its agent alone, over those of the zone; read when it boots. */
  flags: readonly string[]
  unlisten: () => void
  kubelet: Health
  isOn: boolean
  isFrozen: boolean
  /** Its cloud link was cut when it was frozen. */
  wasCut: boolean
  /** Somebody else's agent runs there, which is not ours to start. */
  isForeign: boolean
  /** Its answers take longer than any round waits. */
  isTooSlow: boolean
  /** Its own probes all fail, whatever they ask. */
  isBlind: boolean
  /** Its own probes cannot be made: no descriptor is left. */
  isUnable: boolean
  /** What somebody else answers at its address in the kubelet's place, while it is off; undefined refuses. */
  impostor: number | undefined
  /** The cluster lists it as a node of the zone. */
  isMember: boolean
}

export interface WorldOptions extends NetworkOptions {
  readonly seed?: number
  readonly flags?: readonly string[]
  readonly profile?: 'default' | 'fast'
  /** How finely time passes. @default exact; promises settle in one turn of the event loop, since nothing here waits for I/O */
  readonly pace?: Pace
  /** Zones by label are on, and all nodes are in this one. @default all nodes are one zone */
  readonly zone?: string
  /** Units are on, of which all nodes are in the first alone. They win over zones by label. @default none */
  readonly units?: readonly string[]
}

const addressOfNode = (index: number): string => `10.0.${index >> 8}.${(index & 255) + 1}`

const LEASE_SECONDS = 40
const LEASE_RENEWAL_MS = 10_000
const STEP_MS = 500

/** A whole zone on virtual time: real agents, a network that loses and cuts, a cluster in memory. */
export class World {
  readonly clock: FakeClock
  readonly cluster: FakeCluster
  readonly network: MemoryNetwork
  readonly machines: Machine[] = []
  readonly observer: Observer
  readonly #o: WorldOptions
  readonly #random: Random
  #lives = 0

  constructor(size: number, o: WorldOptions = {}) {
    this.#o = o
    this.clock = new FakeClock(undefined, undefined, { settle: settleOnce, ...o.pace })
    this.#random = seededRandom((o.seed ?? 1) + 77_777)
    this.cluster = new FakeCluster(this.clock)
    this.network = new MemoryNetwork(this.clock, seededRandom(o.seed ?? 1), o)
    this.cluster.put('secret', 'edge-health-keys', { data: { primary: 'a key of the test world' } })
    if (o.zone !== undefined)
      this.cluster.put('configmap', ZONE_CONFIG, { data: { TaintZoneAdmission: 'true' } })
    if (o.units !== undefined)
      this.cluster.put('configmap', UNIT_CONFIG, {
        data: { 'unit-internal-check': 'true', 'check-units': o.units.join() },
      })
    for (let index = 0; index < size; index++) this.addMachine()
    this.observer = new Observer({
      now: () => this.clock.now(),
      nodes: () => this.machines.map(machine => this.#truth(machine)),
      canReach: (from, to) => this.network.canReach(from, to),
      writes: this.cluster.writes,
    })
  }

  /** A new node joins the cluster; its agent is booted by `boot`. Returns its index. */
  addMachine(): number {
    const index = this.machines.length
    const name = `n${index}`
    const address = addressOfNode(index)
    const machine: Machine = {
      ...{
        name,
        address,
        disk: new Map(),
        diskTroubles: new Map(),
        log: recordingLog(['node']),
        wall: { offsetMs: 0 },
      },
      files: new Map(),
      ...{ agent: undefined, isBraked: notBraked, process: undefined, kubeletProcess: undefined },
      ...{ unlisten: () => undefined, kubelet: 'well', isOn: true },
      ...{
        isFrozen: false,
        wasCut: false,
        isForeign: false,
        isTooSlow: false,
        isBlind: false,
        isMember: true,
      },
      ...{ isUnable: false, impostor: undefined, flags: [] },
    }
    this.machines.push(machine)
    this.cluster.put('node', name, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { labels: this.#labels },
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
    this.#runKubelet(machine, this.#random.below(LEASE_RENEWAL_MS))
    return index
  }

  get #labels(): Record<string, string> {
    const { zone, units = [] } = this.#o
    return {
      ...(zone === undefined ? {} : { [ZONE_LABEL]: zone }),
      ...(units[0] === undefined ? {} : { [units[0]]: UNIT_LABEL_VALUE }),
    }
  }

  /** The node loses its zone label: it is no member any more, its agent goes on. */
  leave(index: number): void {
    this.machine(index).isMember = false
    this.#relabel(index, {})
  }

  join(index: number): void {
    this.machine(index).isMember = true
    this.#relabel(index, this.#labels)
  }

  /** The node is in all units from now on: those of one alone are in another zone. */
  overlap(index: number): void {
    this.machine(index).isMember = false
    const { units = [] } = this.#o
    this.#relabel(index, Object.fromEntries(units.map(unit => [unit, UNIT_LABEL_VALUE])))
  }

  /** The node moves to another zone. */
  move(index: number, zone: string): void {
    this.machine(index).isMember = false
    this.#relabel(index, { [ZONE_LABEL]: zone })
  }

  #relabel(index: number, labels: Record<string, string>): void {
    const { name } = this.machine(index)
    const { metadata } = this.cluster.raw('node', name)
    this.cluster.edit('node', name, { metadata: { ...metadata, labels } })
  }

  /** The Node object names this address from now on, whoever has it. */
  setAddress(index: number, address: string): void {
    const { name } = this.machine(index)
    const { status } = this.cluster.raw('node', name)
    const addresses = [{ type: 'InternalIP', address }]
    this.cluster.edit('node', name, { status: { ...(status as object), addresses } })
  }

  /** The cluster forgets the node: it is no member any more, its agent goes on. */
  removeNode(index: number): void {
    this.machine(index).isMember = false
    this.cluster.remove('node', this.machine(index).name)
  }

  machine(index: number): Machine {
    return this.machines[index]!
  }

  optionsOf(machine: Machine): AgentOptions {
    const flags = [
      `--node-name=${machine.name}`,
      `--profile=${this.#o.profile ?? 'default'}`,
      ...(this.#o.flags ?? []),
      ...machine.flags,
    ].map((flag): [string, string] => {
      const at = flag.indexOf('=')
      return [flag.slice(2, at), flag.slice(at + 1)]
    })
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
    const { address, log, disk, diskTroubles } = machine
    const { network, cluster } = this
    const clock = new ProcessClock(this.clock, machine.wall)
    const random = seededRandom(7_919 * ++this.#lives + (this.#o.seed ?? 1))
    const agent = makeAgent(this.optionsOf(machine), {
      ...{ clock, random, log, version: 'test', setVerbosity: () => undefined },
      scheduler: clockScheduler(clock),
      kube: cluster.api(machine.name, { clock }),
      transport: network.transport(address),
      folder: memoryFolder(disk, diskTroubles),
      probes: {
        dial: network.dial(address, () => !machine.isBlind),
        http: this.#httpOf(machine),
        isOwnAddress: given => given === BRIDGE || isLoopback(given),
        readFile: async path => {
          const text = machine.files.get(path)
          if (text === undefined) throw new Error('no such file')
          return text
        },
      },
    })
    machine.agent = agent
    machine.isBraked = brakeOf(agent)
    machine.process = clock
    const receive = (route: Route, body: Uint8Array, from: string): Answer => {
      const answer = agent.inbox.receive(route, body, from)
      return { status: answer.status, body: Buffer.from(answer.body) }
    }
    const open = async (at: string, signal: AbortSignal): Promise<Listener> => {
      // What is no address of this machine is waited for, as bind() would.
      if (at !== machine.address) await aborted(signal)
      else machine.unlisten = network.listen(at, receive)
      const status = { evicted: 0, delayed: 0, waiting: 0 }
      return { address: at, port: 0, status, renew: () => undefined, close: async () => undefined }
    }
    const onStatus = (status: PeerListenerStatus): void => agent.setPeerListener(status)
    const peers = new PeerListener({ clock, log, open, onStatus })
    agent.home.subscribe(() => peers.follow(agent.home.address ?? ''))
    void peers.start(address)
    void agent.start()
  }

  /** A round with no descriptor left fails on our side; the own kubelet's port needs one too. */
  #httpOf(machine: Machine): HttpGet {
    const http = this.network.httpGet(machine.address, url => this.#answerOf(machine, url))
    const noDescriptor = Object.assign(new Error('too many open files'), { code: 'EMFILE' })
    return {
      get: async request => {
        if (machine.isUnable) throw noDescriptor
        return http.get(request)
      },
      close: () => http.close(),
    }
  }

  /** What a kubelet answers: its own node on loopback, others with 401 as one without TokenReview does. */
  #answerOf(asker: Machine, url: URL): number | undefined {
    if (url.hostname === '127.0.0.1' || url.hostname === BRIDGE) {
      return asker.kubelet === 'well' ? 200 : asker.kubelet === 'sick' ? 500 : undefined
    }
    const target =
      this.machines.find(({ address }) => address === url.hostname) ??
      this.machines.find(({ address }) => mapped(address) === url.hostname)
    if (asker.isBlind || target === undefined) return undefined
    if (target.kubelet === 'silent') return target.impostor
    return 401
  }

  /** Renews the Lease, and says that the node is ready when the control plane has given it up. One that starts does so at once. */
  #runKubelet(machine: Machine, firstMs = 0): void {
    const clock = new ProcessClock(this.clock, machine.wall)
    // Ends by SIGKILL alone. Its own, or what the killed leave waiting would outlive the world.
    const never = new AbortController().signal
    const api = this.cluster.api(machine.name, { clock, actor: `kubelet/${machine.name}` })
    const beat = async (): Promise<void> => {
      if (!isWell(machine.kubelet)) return
      const renewTime = new Date(clock.wall()).toISOString().replace('Z', '000Z')
      await api.patchLease(machine.name, { type: 'merge', body: { spec: { renewTime } } }, never)
      const { conditions } = await api.getNode(machine.name, never)
      if (conditions.find(({ type }) => type === 'Ready')?.status === 'True') return
      const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady' }
      const body = { status: { conditions: [ready] } }
      await api.patchNodeStatus(machine.name, { type: 'strategic-merge', body }, never)
    }
    const loop = async (): Promise<void> => {
      await sleep(clock, firstMs, never)
      do await beat().catch(() => undefined)
      while (await sleep(clock, LEASE_RENEWAL_MS, never))
    }
    machine.kubeletProcess = clock
    void loop()
  }

  /** A kubelet that was sick is started anew and is well. */
  restartKubelet(index: number): void {
    const machine = this.machine(index)
    machine.kubeletProcess?.kill()
    machine.kubelet = 'well'
    this.#runKubelet(machine)
  }

  #truth(machine: Machine): Truth {
    const { name, address, isMember, isOn, isFrozen, isBlind, kubelet, agent } = machine
    const isRunning = isOn && !isFrozen
    return {
      ...{ name, address, isMember },
      isSound: isRunning && isWell(kubelet) && !machine.isTooSlow,
      isTalking: isRunning && !isBlind && (agent !== undefined || machine.isForeign),
      down: agent?.views
        .localView()
        .nodes.filter(node => !node.isUp)
        .map(node => node.name),
      brake: machine.isBraked(),
    }
  }

  bootAll(): void {
    for (let index = 0; index < this.machines.length; index++) this.boot(index)
  }

  /** Let time pass, looking at everything all the time. */
  async run(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await this.clock.advance(Math.min(left, STEP_MS))
      this.observer.look()
    }
  }

  /** Let time pass until something is so; returns how long it took, or undefined when `limitMs` was not enough. */
  async until(isSo: () => boolean, limitMs: number): Promise<number | undefined> {
    const since = this.clock.now()
    while (!isSo()) {
      if (this.clock.now() - since >= limitMs) return undefined
      await this.clock.advance(100)
      if ((this.clock.now() - since) % STEP_MS === 0) this.observer.look()
    }
    return this.clock.now() - since
  }

  /** All agents run and everybody agrees that all is well. */
  async settled(ms = 60_000): Promise<void> {
    this.bootAll()
    await this.run(ms)
  }

  /** SIGKILL of the agent alone: its port is closed, its node lives. */
  killAgent(index: number): void {
    const machine = this.machine(index)
    machine.process?.kill()
    this.network.forget(machine.address)
    machine.unlisten()
    machine.agent = undefined
    machine.isBraked = notBraked
    machine.process = undefined
    this.cluster.drop(machine.name)
  }

  /** Power off: nothing answers any more, nothing is said. */
  crash(index: number): void {
    const machine = this.machine(index)
    this.killAgent(index)
    this.network.powerOff(machine.address)
    machine.kubeletProcess?.kill()
    machine.kubelet = 'silent'
    machine.isOn = false
  }

  /** Power on again, with the disk as it was. */
  repair(index: number): void {
    const machine = this.machine(index)
    machine.kubelet = 'well'
    machine.isOn = true
    this.network.powerOn(machine.address)
    this.#runKubelet(machine)
    this.boot(index)
  }

  /** Agent and kubelet stand still; the kernel still takes connections. */
  freeze(index: number, how: Suspension = 'stopped'): void {
    const machine = this.machine(index)
    machine.isFrozen = true
    machine.wasCut = this.cluster.isCut(machine.name)
    this.network.freeze(machine.address)
    this.cluster.cut(machine.name)
    machine.process?.freeze(how)
    machine.kubeletProcess?.freeze(how)
  }

  thaw(index: number): void {
    const machine = this.machine(index)
    machine.isFrozen = false
    if (!machine.wasCut) this.cluster.heal(machine.name)
    machine.process?.thaw()
    machine.kubeletProcess?.thaw()
    this.network.thaw(machine.address)
  }

  /** Packets to and from the node take so much longer, each way. */
  slowDown(index: number, ms: number): void {
    this.machine(index).isTooSlow = ms > 1_000
    this.network.slowDown(this.machine(index).address, ms)
  }

  /** A rolling update's step: the agent says goodbye, the node stays. */
  async restartAgent(index: number, downMs: number): Promise<void> {
    const machine = this.machine(index)
    const stopping = machine.agent?.stop()
    await this.run(2_500)
    await stopping
    this.killAgent(index)
    await this.run(downMs)
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

  /** Every live agent's `/localinfo` calls exactly these down. */
  allSee(...down: readonly number[]): boolean {
    const names = down.map(index => this.machine(index).name).sort()
    return this.machines.every((machine, index) => {
      if (machine.agent === undefined || machine.isFrozen || !machine.isMember) return true
      return this.downFrom(index).join() === names.join()
    })
  }

  /** Nodes that carry SuperEdge's mark. */
  condemned(): string[] {
    return this.machines
      .filter(({ isMember }) => isMember)
      .map(machine => machine.name)
      .filter(name => this.cluster.node(name).annotations['nodeunhealth'] === 'yes')
  }

  /** Writes to Nodes by agents since an instant, as `by>node/kind`. */
  writesSince(at: number): string[] {
    return this.cluster.writes
      .filter(write => write.at >= at && write.kind !== 'lease' && !write.by.startsWith('kubelet/'))
      .map(({ by, node, kind }) => `${by}>${node}/${kind}`)
  }

  get indices(): number[] {
    return this.machines.map((_, index) => index)
  }

  async stop(): Promise<void> {
    for (const machine of this.machines) machine.kubeletProcess?.kill()
    const stopping = this.machines.map(machine => machine.agent?.stop())
    await this.clock.advance(10_000)
    await Promise.all(stopping.filter(each => each !== undefined))
  }
}
