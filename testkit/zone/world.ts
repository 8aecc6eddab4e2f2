// SPDX-License-Identifier: Apache-2.0
import type { AgentOptions } from '../../agent/options/agent-options.js'
import { UNIT_CONFIG, ZONE_CONFIG } from '../../agent/stages/node-list/zone-config.js'
import { UNIT_LABEL_VALUE, ZONE_LABEL } from '../../agent/stages/node-list/zone-rule.js'
import type { Random } from '../../core/random.js'
import { FakeClock, settleOnce, type Pace } from '../fake-clock.js'
import type { Suspension } from '../process-clock.js'
import { seededRandom } from '../seeded-random.js'
import { bootAgent, optionsOf } from './boot-agent.js'
import { FakeCluster } from './fake-cluster.js'
import { LEASE_RENEWAL_MS, runKubelet, type Ground } from './kubelet.js'
import { isWell, leaseOf, makeMachine, nodeOf, notBraked, type Machine } from './machine.js'
import { MemoryNetwork, type NetworkOptions } from './memory-network.js'
import { Observer, type Truth } from './observer.js'

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
    const machine = makeMachine(index)
    this.machines.push(machine)
    this.cluster.put('node', machine.name, nodeOf(machine, this.#labels))
    this.cluster.put('lease', machine.name, leaseOf(machine))
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
    const { profile = 'default', flags = [] } = this.#o
    return optionsOf([
      `--node-name=${machine.name}`,
      `--profile=${profile}`,
      ...flags,
      ...machine.flags,
    ])
  }

  /** Boot an agent; it takes what its disk remembers. */
  boot(index: number): void {
    const machine = this.machine(index)
    const random = seededRandom(7_919 * ++this.#lives + (this.#o.seed ?? 1))
    bootAgent(machine, this.optionsOf(machine), { ...this.#ground, random })
  }

  #runKubelet(machine: Machine, firstMs = 0): void {
    runKubelet(machine, this.#ground, firstMs)
  }

  get #ground(): Ground {
    const { clock, cluster, network, machines } = this
    return { clock, cluster, network, machines }
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

  /** Let time pass; the observer looks every half second. */
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

  /** Boot all agents, and give them time to agree that all is well. */
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
