// SPDX-License-Identifier: Apache-2.0
import { parseIdentity } from '../../../agent/identity/annotation.js'
import { makeKeyRing } from '../../../agent/key-ring.js'
import { slotOf } from '../../../agent/identity/statement.js'
import { sleep, type Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import { systemRandom } from '../../../core/random.js'
import type { Member } from '../../../core/roster.js'
import type { FixedAccess } from '../../../kube/client/fixed-credentials.js'
import { castOf, KUBELET_PORT, LOCAL_PORT, PEER_PORT } from './cast.js'
import { Cluster } from './cluster.js'
import { WorldExchange, type ExchangeCount } from './exchange.js'
import { Kubelets, OwnKubelet, type ProbeCount } from './kubelets.js'
import { pickPartner } from './knowledge.js'
import { WorldPeer } from './peer.js'
import { Records, type TopologyOptions } from './records.js'
import { SignedSpeech } from './signed-speech.js'
import type { WireCount } from './wire-count.js'
import { WorldKeys } from './world-keys.js'

/** What to play. Periods are those of the agent's profile. */
export interface WorldOrder {
  readonly nodes: number
  /** Second byte of the addresses, so that two runs do not meet. */
  readonly block: number
  readonly checkPeriodMs: number
  readonly exchangePeriodMs: number
  readonly topology: TopologyOptions
  /** Each member signs with keys of its own, for links of so long; undefined: with those of the zone. Then nobody dies or leaves. */
  readonly linkSlotMs?: number | undefined
  /** A real apiserver to write Nodes to, which has the key of the zone; one is played without it. */
  readonly apiserver?: FixedAccess | undefined
}

/** What an agent needs to take part. */
export interface Stage {
  /** Undefined where the apiserver is not the world's. */
  readonly kubeconfig: string | undefined
  readonly selfReportUrl: string
  /** What the agent remembers of the members' keys, as one that ran here before; undefined where they have none. */
  readonly identities: string | undefined
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
/** How long an agent takes to publish its keys at most. */
const PUBLISHED_WITHIN_MS = 30_000
const LOOK_EVERY_MS = 500

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
  readonly #nodeKeys: WorldKeys | undefined
  readonly #signed: SignedSpeech | undefined
  readonly #end = new AbortController()
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
    this.#nodeKeys = order.linkSlotMs === undefined ? undefined : new WorldKeys(this.#others)
    this.#signed = this.#nodeKeys && this.#makeSigned(this.#nodeKeys, order.linkSlotMs!)
    this.#exchange = new WorldExchange(
      this.#peers,
      () => ({ roster: this.#records.table.roster, speech: this.#signed ?? this.#records }),
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
    const keys = this.#nodeKeys
    await this.cluster.fill(this.#members, KEY, (node, uid) => keys?.publish(node, uid))
    const selfReportUrl = await this.#own.open()
    const { kubeconfig } = this.cluster
    return { kubeconfig, selfReportUrl, identities: keys?.remembered }
  }

  /**
   * The agent runs: begin exchanges with it, and probe it as its kubelet does.
   * @throws Error when members sign with keys of their own, and the agent publishes none
   */
  async play(): Promise<void> {
    await this.#meet()
    this.#own.probe(`http://${this.#agent.address}:${LOCAL_PORT}`)
    this.#planGossip()
  }

  forgetGaps(): void {
    this.#kubelets.forget()
  }

  /** The n-th peer loses its power. */
  kill(n: number): void {
    this.#mustShareKeys('die')
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
    this.#mustShareKeys('leave')
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
    this.#end.abort()
    this.#cancelGossip()
    this.#own.close()
    for (const peer of this.#peers.values()) peer.close()
    await this.cluster.stop()
  }

  get #agent(): Member {
    return this.#members[0]!
  }

  get #others(): readonly Member[] {
    return this.#members.slice(1)
  }

  #mustShareKeys(act: string): void {
    if (this.#signed !== undefined)
      throw new Error(`members with keys of their own do not ${act} in this world`)
  }

  /** Wait until the agent's Node says which keys it has. */
  async #meet(): Promise<void> {
    const speech = this.#signed
    if (speech === undefined) return
    const { name } = this.#agent
    const endAt = this.#clock.now() + PUBLISHED_WITHIN_MS
    while (!speech.isReady) {
      const published = await this.cluster.identityOf(name)
      if (published !== undefined) speech.meet(parseIdentity(published).keys)
      else if (this.#clock.now() > endAt)
        throw new Error(`${name} has published no keys after ${PUBLISHED_WITHIN_MS / 1_000} s`)
      else await sleep(this.#clock, LOOK_EVERY_MS, this.#end.signal)
    }
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

  #makeSigned(nodeKeys: WorldKeys, linkSlotMs: number): SignedSpeech {
    const { table, zone } = this.#records
    const { exchangePeriodMs } = this.#order
    const agent = table.roster.indexOf(this.#agent.name)!
    const slot = slotOf(linkSlotMs)
    return new SignedSpeech({ table, zone, agent, exchangePeriodMs, slot }, nodeKeys, {
      ...{ clock: this.#clock, random: systemRandom, keys: this.#keys },
    })
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
    const index = pickPartner(table, agent, systemRandom)
    return index === undefined ? undefined : this.#peers.get(table.roster.members[index]!.address)
  }
}
