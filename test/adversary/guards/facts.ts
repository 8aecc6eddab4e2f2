// SPDX-License-Identifier: Apache-2.0
import type { Agent } from '../../../agent/agent.js'
import { isOfPair } from '../../../agent/stages/exchange/wire.js'
import type { Machine } from '../../../testkit/zone/machine.js'
import { quorumOf } from '../../../vote/quorum.js'
import type { Zone } from '../zone.js'

/** All agents have had time to look at each other. */
const UP_MS = 6_000
/** An agent that is cut off from everybody has seen that all of them fell. */
const SEEN_MS = 3_500
const WITNESS_MS = 15_000
/** A message that was longer under way is believed by nobody. */
const UNDER_WAY_MS = 5_000

/** When each of these was last so, by the world's clock; −Infinity for never. */
export interface Facts {
  troubleAt: number
  wasInTrouble: boolean
  unsoundAt: number
  /** On, awake, and in touch with a majority, be it blind; its kubelet's own bad word may be known to nobody. */
  presentAt: number
  /** Not off: a dead node was dead ever since. */
  aliveAt: number
  majorityAt: number
  memberAt: number
  /** When it became a member again, last, by the apiserver's clock too. */
  returned: { readonly at: number; readonly wall: number }
  linkCutAt: number
  /** Its link was cut, or the apiserver said to it that it is unwell. */
  linkBadAt: number
  /** The agent was away, or its own probes were no use. */
  blindAt: number
  /** The agent was away, or stood still. */
  silentAt: number
  /** When its agent began. */
  begunAt: number
  /** When its agent, or what it can see of its link to the apiserver, became another. */
  readonly turnedAt: number[]
  /** By peer: the link between the two was not open. */
  readonly cutAt: Map<string, number>
  /** It was cut off from some but not all, or from all but not for long enough to see that: a peer's fall may be the peer's. */
  partlyCutAt: number
  /** When it was cut off from all others; undefined while it is not. */
  isolatedSince: number | undefined
  /** When its mark was put on; +Infinity without one. */
  markedAt: number
}

/** What an agent's waiting, and what it remembers, hangs on. */
interface Link {
  readonly agent: Agent | undefined
  readonly isBad: boolean
  /** It says that it is unwell, and does not serve what would prove the contrary. */
  readonly isUnserved: boolean
  readonly offsetMs: number
  readonly isMember: boolean
}

const fresh = (now: number): Facts => ({
  ...{ troubleAt: now, wasInTrouble: false, unsoundAt: now, presentAt: now, aliveAt: now },
  ...{ majorityAt: now, memberAt: now, returned: { at: -Infinity, wall: -Infinity } },
  ...{ linkCutAt: now, linkBadAt: now, blindAt: now, silentAt: now, begunAt: now, turnedAt: [] },
  ...{ cutAt: new Map<string, number>(), markedAt: Infinity },
  ...{ partlyCutAt: -Infinity, isolatedSince: undefined },
})

/** What is true of each machine, which no agent knows: looked up in the world after each step. */
export class FactBook {
  readonly zone: Zone
  readonly beganAt: number
  /** An agent began anew, or the zone changed: what was counted about links may be forgotten. */
  readonly forgotAt: number[] = []
  readonly #facts = new Map<string, Facts>()
  readonly #links = new Map<string, Link>()
  /** When the newest request was sent that was taken in by keys of the pair, by the addresses of who asked and who answered. */
  readonly #signedAt = new Map<string, number>()

  constructor(zone: Zone) {
    this.zone = zone
    this.beganAt = this.now
    for (const { name } of zone.world.machines) this.#facts.set(name, fresh(this.now))
    const { network } = zone.world
    const others = network.onWire
    network.onWire = (body, route, kind, link) => {
      others?.(body, route, kind, link)
      const { answer, from, to } = link
      if (answer?.status === 200 && isOfPair(body) && this.isOwn(from))
        this.#signedAt.set(`${to} ${from}`, answer.askedAt)
    }
  }

  get now(): number {
    return this.zone.world.clock.now()
  }

  get members(): Machine[] {
    return this.zone.world.machines.filter(({ isMember }) => isMember)
  }

  get all(): readonly Facts[] {
    return [...this.#facts.values()]
  }

  of(name: string): Facts {
    return this.#facts.get(name)!
  }

  /** Undefined for who is no machine of this world, such as a kubelet. */
  find(name: string): Facts | undefined {
    return this.#facts.get(name)
  }

  isTalking({ isOn, isFrozen, agent }: Machine): boolean {
    return isOn && !isFrozen && agent !== undefined
  }

  /** Whoever took the address of a dead node takes in nothing. */
  isOwn(address: string): boolean {
    const machine = this.zone.world.machines.find(each => each.address === address)
    return machine !== undefined && this.isTalking(machine)
  }

  /** Whether one of the two took in what the other signed with the keys of the pair, since then: each knows the other's keys. */
  haveSigned(a: Machine, b: Machine, since: number): boolean {
    const pairs = [`${a.address} ${b.address}`, `${b.address} ${a.address}`]
    return pairs.some(pair => (this.#signedAt.get(pair) ?? -Infinity) >= since)
  }

  isMoved(machine: Machine): boolean {
    return this.zone.moved.has(this.zone.world.machines.indexOf(machine))
  }

  /** Both left, and into the same other zone: who is in two units forms one with the others that are in both. */
  haveLeftTogether(a: string, b: string): boolean {
    const { cluster, machines } = this.zone.world
    const [one, other] = [a, b].map(name =>
      machines.some(machine => machine.name === name && !machine.isMember)
        ? Object.keys(cluster.node(name).labels).join()
        : '',
    )
    return one !== '' && one === other
  }

  canReach(a: Machine, b: Machine): boolean {
    return this.zone.world.network.canReach(a.address, b.address)
  }

  #isSound({ isOn, isFrozen, kubelet, isTooSlow }: Machine): boolean {
    return isOn && !isFrozen && !isTooSlow && (kubelet === 'well' || kubelet === 'portless')
  }

  #canSee(machine: Machine): boolean {
    const isAble = !machine.isBlind && !machine.isUnable
    return this.isTalking(machine) && isAble && !this.isMoved(machine)
  }

  /** Members, itself among them, that are in touch with this node both ways. */
  #inTouch(node: Machine, isWitness: (other: Machine) => boolean): number {
    return (
      this.members.filter(other => other !== node && isWitness(other) && this.canReach(other, node))
        .length + 1
    )
  }

  learn(): void {
    for (const machine of this.zone.world.machines) this.#learn(machine)
  }

  #learn(machine: Machine): void {
    const { world, pingBroken } = this.zone
    const { now } = this
    const facts = this.of(machine.name)
    const quorum = quorumOf(this.members.length)
    const isCut = world.cluster.isCut(machine.name)
    if (isCut) facts.linkCutAt = now
    if (isCut || pingBroken.has(machine.name)) facts.linkBadAt = now
    this.#noteTurn(machine, facts)
    const isWitnessed = this.members.length === 2 && now - facts.linkCutAt > WITNESS_MS
    const isReachedBy = (isWitness: (other: Machine) => boolean): boolean =>
      isWitnessed || this.#inTouch(machine, isWitness) >= quorum
    this.#noteTrouble(
      machine,
      facts,
      isReachedBy(other => this.#canSee(other)),
    )
    const isAwake = machine.isOn && !machine.isFrozen
    if (isAwake && isReachedBy(other => this.isTalking(other))) facts.presentAt = now
    if (machine.isOn || machine.impostor !== undefined) facts.aliveAt = now
    this.#noteMajority(machine, facts, this.members.length === 2 ? 1 : quorum)
    if (machine.isMember) facts.memberAt = now
    if (!this.#canSee(machine)) facts.blindAt = now
    if (!this.isTalking(machine)) facts.silentAt = now
    this.#noteCuts(machine, facts)
  }

  #noteCuts(machine: Machine, facts: Facts): void {
    const { now } = this
    const { machines } = this.zone.world
    const lost = machines.filter(other => other !== machine && !this.canReach(machine, other))
    for (const { name } of lost) facts.cutAt.set(name, now)
    if (lost.length === machines.length - 1) {
      facts.isolatedSince ??= now
      return
    }
    const isBrief = facts.isolatedSince !== undefined && now - facts.isolatedSince < SEEN_MS
    facts.isolatedSince = undefined
    if (lost.length > 0 || isBrief) facts.partlyCutAt = now
  }

  #noteTrouble(machine: Machine, facts: Facts, isReached: boolean): void {
    const { now } = this
    const isSound = this.#isSound(machine)
    if (!isSound) facts.unsoundAt = now
    if (isSound && isReached && machine.isMember && !this.isMoved(machine)) return
    facts.troubleAt = now
    facts.wasInTrouble ||= now > this.beganAt + UP_MS
  }

  /** Members whose words reach it by open links just now: one tells what another told it. */
  #heardBy(machine: Machine): ReadonlySet<Machine> {
    const heard = new Set([machine])
    const talking = this.members.filter(other => this.isTalking(other))
    for (const hearer of heard)
      for (const other of talking) if (this.canReach(other, hearer)) heard.add(other)
    return heard
  }

  /** A majority's word reached it: by open links just now, or brought to it by the outsider, who may. */
  #noteMajority(machine: Machine, facts: Facts, quorum: number): void {
    if (!this.isTalking(machine)) return
    const { world, outsider } = this.zone
    const brought = outsider.broughtTo(machine.address)
    const heard = this.#heardBy(machine)
    const heardAt = world.machines.map(other => {
      if (heard.has(other)) return this.now
      if (!other.isMember) return -Infinity
      const words = brought.filter(
        ({ from, saidAt, at }) =>
          from === other.address && at <= this.now && at - saidAt <= UNDER_WAY_MS,
      )
      return Math.max(...words.map(({ saidAt }) => saidAt), -Infinity)
    })
    const majorityAt = heardAt.sort((a, b) => b - a)[quorum - 1] ?? -Infinity
    facts.majorityAt = Math.max(facts.majorityAt, majorityAt)
  }

  #noteTurn({ name, agent, isMember, wall }: Machine, facts: Facts): void {
    const { world, pingBroken, refusing } = this.zone
    const isBad = world.cluster.isCut(name) || pingBroken.has(name)
    const isUnserved = pingBroken.has(name) && (refusing?.status ?? 0) >= 500
    const known = this.#links.get(name)
    const { offsetMs } = wall
    this.#links.set(name, { agent, isBad, isUnserved, isMember, offsetMs })
    const isNew = known?.agent !== agent
    if (isNew) facts.begunAt = this.now
    const isTurned = known?.isBad !== isBad || known.isUnserved !== isUnserved
    // Who finds its clock a day later takes itself for suspended, and its link for unknown.
    if (isNew || isTurned || known.offsetMs !== offsetMs) facts.turnedAt.push(this.now)
    if (known === undefined) return
    if (isNew || isMember !== known.isMember) this.forgotAt.push(this.now)
    if (isMember && !known.isMember)
      facts.returned = { at: this.now, wall: world.cluster.serverWall() }
  }
}
