// SPDX-License-Identifier: Apache-2.0
import { makeKeyRing } from '../../../agent/key-ring.js'
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import { systemRandom } from '../../../core/random.js'
import type { Member } from '../../../core/roster.js'
import type { FixedAccess } from '../../../kube/client/fixed-credentials.js'
import { castOf, KUBELET_PORT, LOCAL_PORT, PEER_PORT } from './cast.js'
import { Cluster } from './cluster.js'
import { WorldExchange, type ExchangeCount } from './exchange.js'
import { Kubelets, OwnKubelet, type ProbeCount } from './kubelets.js'
import { WorldPeer } from './peer.js'
import { Records, type TopologyOptions } from './records.js'
import type { WireCount } from './wire-count.js'

/** What to play. Periods are those of the agent's profile. */
export interface WorldOrder {
  readonly nodes: number
  /** Second byte of the addresses, so that two runs do not meet. */
  readonly block: number
  readonly checkPeriodMs: number
  readonly exchangePeriodMs: number
  readonly topology: TopologyOptions
  /** A real apiserver to write Nodes to, which has the key of the zone; one is played without it. */
  readonly apiserver?: FixedAccess | undefined
}

/** What an agent needs to take part. */
export interface Stage {
  /** Undefined where the apiserver is not the world's. */
  readonly kubeconfig: string | undefined
  readonly selfReportUrl: string
}

/** Everything that was counted since the start. */
export interface WorldCount {
  readonly exchange: ExchangeCount
  readonly exchangeWire: WireCount
  readonly probes: ProbeCount
  readonly probeWire: WireCount
  readonly kubeletProbes: { readonly answered: number; readonly failed: number }
}

/** The zone's key. */
export const KEY = 'the key of a zone that is measured'
/** Three of four exchanges are with a neighbour. */
const NEIGHBOUR_PERCENT = 75

/** Plays N − 1 peers, their kubelets, the own kubelet and the apiserver, at the rates that they have in a real zone. */
export class World {
  readonly cluster: Cluster
  readonly #order: WorldOrder
  readonly #clock: Clock
  readonly #members: readonly Member[]
  readonly #peers: ReadonlyMap<string, WorldPeer>
  readonly #keys = makeKeyRing(KEY)
  readonly #exchange: WorldExchange
  readonly #kubelets: Kubelets
  readonly #own: OwnKubelet
  #present: readonly Member[]
  #records: Records
  #cancelGossip: () => void = () => undefined

  static async make(
    order: WorldOrder,
    seams: { readonly clock: Clock; readonly log: Logger },
  ): Promise<World> {
    const { members } = castOf(order.nodes, order.block)
    const peers = new Map(members.slice(1).map(one => [one.address, new WorldPeer(one)]))
    const kubelets = await Kubelets.make(peers, seams.clock, order.checkPeriodMs)
    return new World(order, seams.clock, {
      members,
      peers,
      kubelets,
      cluster: await Cluster.make(seams, order.apiserver),
    })
  }

  private constructor(
    order: WorldOrder,
    clock: Clock,
    parts: {
      readonly members: readonly Member[]
      readonly peers: ReadonlyMap<string, WorldPeer>
      readonly kubelets: Kubelets
      readonly cluster: Cluster
    },
  ) {
    this.#order = order
    this.#clock = clock
    this.#members = parts.members
    this.#present = parts.members
    this.#peers = parts.peers
    this.#kubelets = parts.kubelets
    this.cluster = parts.cluster
    this.#records = this.#makeRecords()
    this.#exchange = new WorldExchange(
      this.#peers,
      { records: () => this.#records, keys: this.#keys },
      { host: this.#agent.address, port: PEER_PORT },
    )
    this.#own = new OwnKubelet(clock)
  }

  get count(): WorldCount {
    return {
      exchange: this.#exchange.count,
      exchangeWire: this.#exchange.wire.count,
      probes: this.#kubelets.count,
      probeWire: this.#kubelets.wire.count,
      kubeletProbes: { answered: this.#own.answered, failed: this.#own.failed },
    }
  }

  /** Open all doors and fill the cluster; the agent may come. */
  async begin(): Promise<Stage> {
    for (const peer of this.#peers.values()) await this.#open(peer)
    await this.cluster.fill(this.#members, KEY)
    const selfReportUrl = await this.#own.open()
    return { kubeconfig: this.cluster.kubeconfig, selfReportUrl }
  }

  /** The agent runs: begin exchanges with it, and probe it as its kubelet does. */
  play(): void {
    this.#own.probe(`http://${this.#agent.address}:${LOCAL_PORT}`)
    this.#planGossip()
  }

  forgetGaps(): void {
    this.#kubelets.forget()
  }

  /** The n-th peer loses its power. */
  kill(n: number): void {
    const peer = this.#nth(n)
    peer.close()
    this.#records.died(peer.member.name)
  }

  async revive(n: number): Promise<void> {
    const peer = this.#nth(n)
    if (peer.isAlive) return
    await this.#open(peer)
    this.#records.revived(peer.member.name)
  }

  /** The n-th peer leaves the zone. */
  async leave(n: number): Promise<void> {
    const { member } = this.#nth(n)
    await this.cluster.remove(member.name)
    this.#setPresent(this.#present.filter(one => one !== member))
  }

  async comeBack(n: number): Promise<void> {
    const { member } = this.#nth(n)
    await this.cluster.bringBack(member.name)
    if (!this.#present.includes(member)) this.#setPresent([...this.#present, member])
  }

  async stop(): Promise<void> {
    this.#cancelGossip()
    this.#own.close()
    for (const peer of this.#peers.values()) peer.close()
    await this.cluster.stop()
  }

  get #agent(): Member {
    return this.#members[0]!
  }

  #nth(n: number): WorldPeer {
    const peer = this.#peers.get(this.#members[n]?.address ?? '')
    if (peer === undefined) throw new RangeError(`no peer ${n} in this world`)
    return peer
  }

  #open(peer: WorldPeer): Promise<void> {
    return peer.open({
      exchange: socket => this.#exchange.take(socket),
      kubelet: socket => this.#kubelets.take(socket),
      exchangePort: PEER_PORT,
      kubeletPort: KUBELET_PORT,
    })
  }

  #makeRecords(): Records {
    const seams = { clock: this.#clock, keys: this.#keys, topology: this.#order.topology }
    return new Records(this.#present, this.#agent, seams)
  }

  #setPresent(members: readonly Member[]): void {
    this.#present = members
    this.#records = this.#makeRecords()
    for (const peer of this.#peers.values()) if (!peer.isAlive) this.#records.died(peer.member.name)
  }

  /** N − 1 peers with one partner each per period choose the agent once per period, at independent moments. */
  #planGossip(): void {
    const waitMs = -Math.log((1 + systemRandom.below(1e9)) / 1e9) * this.#order.exchangePeriodMs
    this.#cancelGossip = this.#clock.after(waitMs, () => {
      this.#planGossip()
      const peer = this.#pick()
      if (peer?.isAlive === true) void this.#exchange.begin(peer)
    })
  }

  #pick(): WorldPeer | undefined {
    const { table } = this.#records
    const agent = table.roster.indexOf(this.#agent.name)!
    const near = table.topology.gossipNeighbours(agent)
    const isNear = systemRandom.below(100) < NEIGHBOUR_PERCENT && near.length > 0
    const index = isNear ? near[systemRandom.below(near.length)]! : systemRandom.below(table.size)
    return this.#peers.get(table.roster.members[index]!.address)
  }
}
