// SPDX-License-Identifier: Apache-2.0
import { makeLocalInfo, type LocalInfo } from '../../agent/http/local-info.js'
import type { Agent } from '../../agent/agent.js'
import { quorumOf } from '../../vote/quorum.js'
import type { Write } from '../../testkit/zone/fake-cluster.js'
import type { Machine } from '../../testkit/zone/world.js'
import { STEP_MS, type Zone } from './zone.js'

/** What must never happen, in words; each is looked at as often as there was an occasion for it. */
export const GUARDS = {
  'sound-marked': 'no live, Ready node that a majority reaches is marked',
  braked: 'no more nodes are marked than the brake allows',
  minority: 'who has no majority writes nothing',
  leaver: 'who left the zone writes about nobody',
  'dead-cleared': 'the mark of a dead node stays',
  unconfirmed: 'marks are taken off by a majority only',
  'mark-stays':
    'no mark stays on a live, Ready node that a majority, or the witness of two, reaches',
  'lease-back': 'the renewTime of a Lease never goes back',
  'lease-ahead': "no renewTime is written that lies beyond the apiserver's clock",
  'lease-of-dead': 'the Lease of a dead node is not renewed',
  pulse: 'the control plane sees the heartbeat of a node whose link is open',
  'not-cut': 'no node is called cut off whose kubelet renews its Lease',
  patient: 'an apiserver that refuses is asked seldom',
  timeless: 'nothing that proves something for ever is sent unless an operator asked for it',
  view: 'a node that everybody reaches is up in every local view',
  stream: 'the stream of changes tells what the document says',
  damped: 'a flapping cloud link is damped',
  'dead-marked': 'a dead node is marked within its bound',
  'well-again': 'after its return nobody is marked or called down',
} as const
export type Guard = keyof typeof GUARDS

/** A guard that saw what must never happen. */
export interface Breach {
  readonly guard: Guard
  readonly at: number
  readonly what: string
}

const UP_MS = 6_000
const MARK_MAJORITY_MS = 14_000
const CLEAR_MAJORITY_MS = 8_000
/** A step, in which it may have left at any time, and a request's way. */
const LEFT_MS = STEP_MS + 200
/** A message that was longer under way is believed by nobody. */
const UNDER_WAY_MS = 5_000
/** As after the attack: it may have to prove itself for a while. */
const STAYS_MS = 45_000
const DEAD_MS = 6_000
const DEAD_LEASE_MS = 10_000
const LINKED_MS = 15_000
const VIEW_MS = 9_000
const WITNESS_MS = 15_000
const STREAM_MS = 1_000
const RECONNECT_MS = 7_000
/** A kubelet renews its Lease every ten seconds. */
const PULSE_MS = 15_000
/** The `Date` header that the apiserver's clock is read from has whole seconds. */
const CLOCK_MS = 1_000
const BRAKE_SHARE = 0.4
const MINUTE_MS = 60_000
/** Ten at once, and one in five minutes. */
const MOST_EVENTS = 11
/** Of a Lease in this world. */
const LEASE_MS = 40_000
const ROUND_TRIP_MS = 200
const CUT_TAINT = 'edge-health/cloud-link-cut'

/** When each of these was last so, by the world's clock; −Infinity for never. */
interface Facts {
  troubleAt: number
  wasInTrouble: boolean
  unsoundAt: number
  /** On, awake and within reach of a majority; its kubelet's own bad word may be known to nobody. */
  presentAt: number
  /** Not off: a dead node was dead ever since. */
  aliveAt: number
  majorityAt: number
  memberAt: number
  linkCutAt: number
  /** Its link was cut, or the apiserver said to it that it is unwell. */
  linkBadAt: number
  /** When the latest renewTime so far was written. */
  beatAt: number
  latest: number
  /** The node's own clock led its Lease astray, and others go on from there. */
  isSkewed: boolean
  /** The agent was away, or its own probes were no use. */
  blindAt: number
  /** When its agent, or what it can see of its link to the apiserver, became another. */
  readonly turnedAt: number[]
  /** By peer: the link between the two was not open. */
  readonly cutAt: Map<string, number>
  /** When its mark was put on; +Infinity without one. */
  markedAt: number
}

/** What an agent's waiting, and what it remembers, hangs on. */
interface Link {
  readonly agent: Agent | undefined
  readonly isBad: boolean
  readonly isMember: boolean
}

const fresh = (now: number): Facts => ({
  ...{
    troubleAt: now,
    wasInTrouble: false,
    presentAt: now,
    unsoundAt: now,
    aliveAt: now,
    majorityAt: now,
    memberAt: now,
  },
  ...{ beatAt: now, latest: -Infinity, isSkewed: false },
  ...{
    linkCutAt: now,
    linkBadAt: now,
    blindAt: now,
    cutAt: new Map<string, number>(),
    turnedAt: [],
  },
  ...{ markedAt: Infinity },
})

/** How often somebody asks who is always refused, and who waits as long as he has to. */
const askedAtMost = (elapsedMs: number, retryAfterMs: number): number => {
  let count = 1
  let atMs = 0
  for (let waitMs = 500; ; waitMs = Math.min(30_000, 2 * waitMs)) {
    atMs += retryAfterMs + 0.7 * waitMs
    if (atMs > elapsedMs) return count
    count++
  }
}

/** `/localinfo?stream=1` of one agent, served as its HTTP side does, and a client that connects anew at times. */
class Follower {
  readonly agent: Agent
  readonly #clock: Zone['world']['clock']
  readonly #info: LocalInfo
  readonly #end: () => void
  #seen = new Map<string, boolean>()
  #changedAt = -Infinity
  #connectedAt = -Infinity

  constructor(agent: Agent, clock: Zone['world']['clock']) {
    this.agent = agent
    this.#clock = clock
    this.#info = makeLocalInfo(agent.views, 'omit', clock)
    this.#end = agent.views.subscribe(what => {
      if (what !== 'local') return
      const changes = this.#info.changes()
      if (changes !== undefined) this.#take(changes)
      this.#changedAt = clock.now()
    })
  }

  #take(text: string): void {
    const entries = JSON.parse(text) as Record<string, { readonly Normal: boolean } | null>
    for (const [name, entry] of Object.entries(entries)) {
      if (entry === null) this.#seen.delete(name)
      else this.#seen.set(name, entry.Normal)
    }
  }

  /** @returns what the client believes and the document denies, in words; undefined while they agree. */
  difference(): string | undefined {
    const now = this.#clock.now()
    if (now - this.#connectedAt > RECONNECT_MS) {
      this.#connectedAt = now
      this.#seen = new Map()
      this.#take(this.#info.snapshot())
    }
    if (now - this.#changedAt < STREAM_MS) return undefined
    const { nodes } = this.agent.views.localView()
    const wrong = nodes.filter(({ name, isUp }) => this.#seen.get(name) !== isUp)
    const gone = [...this.#seen.keys()].filter(name => !nodes.some(node => node.name === name))
    if (wrong.length + gone.length === 0) return undefined
    return `the stream is wrong about ${[...wrong.map(({ name }) => name), ...gone].join()}`
  }

  stop(): void {
    this.#end()
  }
}

/** Looks at the cluster's objects and log of writes, the network and the machines; never into an agent. */
export class Guards {
  readonly breaches: Breach[] = []
  readonly counts = new Map<Guard, number>()
  readonly #zone: Zone
  readonly #facts = new Map<string, Facts>()
  readonly #followers = new Map<string, Follower>()
  readonly #links = new Map<string, Link>()
  /** An agent began anew, or the zone changed: what was counted about links may be forgotten. */
  readonly #forgotAt: number[] = []
  readonly #beganAt: number
  /** When marks could not be taken off, last. */
  #unableAt = -Infinity
  #seen = 0

  constructor(zone: Zone) {
    this.#zone = zone
    this.#beganAt = zone.world.clock.now()
    for (const { name } of zone.world.machines) this.#facts.set(name, fresh(this.#now))
  }

  /** All agents have had time to look at each other. */
  get #isBegun(): boolean {
    return this.#now > this.#beganAt + UP_MS
  }

  get #now(): number {
    return this.#zone.world.clock.now()
  }

  /** An occasion for this guard; `what` is undefined when all was well. */
  note(guard: Guard, what: string | undefined): void {
    this.counts.set(guard, (this.counts.get(guard) ?? 0) + 1)
    if (what !== undefined && this.breaches.length < 20)
      this.breaches.push({ guard, at: this.#now, what })
  }

  look(): void {
    const { machines } = this.#zone.world
    for (const machine of machines) this.#learn(machine)
    const { writes } = this.#zone.world.cluster
    for (; this.#seen < writes.length; this.#seen++) this.#review(writes[this.#seen]!)
    this.#reviewAbility()
    for (const machine of machines) {
      this.#reviewView(machine)
      this.#reviewStay(machine)
      this.#reviewPulse(machine)
      this.#follow(machine)
    }
    this.note(
      'timeless',
      this.#zone.outsider.results > 0 ? 'a result in SuperEdge’s form was sent' : undefined,
    )
    this.#reviewRefusing()
  }

  /** Marks can be taken off: most members talk, look, and have a link to an apiserver that serves. */
  #reviewAbility(): void {
    const { world, refusing, pingBroken, moved } = this.#zone
    const members = world.machines.filter(({ isMember }) => isMember)
    const able = members.filter(
      machine =>
        this.#isTalking(machine) &&
        !machine.isBlind &&
        !machine.isUnable &&
        !world.cluster.isCut(machine.name),
    )
    const isAble = able.length >= quorumOf(members.length) && members.length > 1
    if (!isAble || refusing !== undefined || pingBroken.size + moved.size > 0)
      this.#unableAt = this.#now
  }

  #reviewStay({ name, isMember }: Machine): void {
    const { cluster } = this.#zone.world
    if (!isMember || cluster.node(name).annotations['nodeunhealth'] !== 'yes') return
    const soundMs = this.#now - Math.max(this.#factsOf(name).troubleAt, this.#unableAt)
    if (soundMs === 0) return
    const what = `${name} has been well for ${soundMs} ms and is still marked`
    this.note('mark-stays', soundMs > STAYS_MS ? what : undefined)
  }

  stop(): void {
    for (const follower of this.#followers.values()) follower.stop()
  }

  #factsOf(name: string): Facts {
    return this.#facts.get(name)!
  }

  #isSound({ isOn, isFrozen, kubelet, isTooSlow }: Machine): boolean {
    return isOn && !isFrozen && !isTooSlow && (kubelet === 'well' || kubelet === 'portless')
  }

  #isTalking({ isOn, isFrozen, agent }: Machine): boolean {
    return isOn && !isFrozen && agent !== undefined
  }

  #canReach(a: Machine, b: Machine): boolean {
    return this.#zone.world.network.canReach(a.address, b.address)
  }

  #isMoved(machine: Machine): boolean {
    return this.#zone.moved.has(this.#zone.world.machines.indexOf(machine))
  }

  /** Members, itself among them, that are in touch with this node both ways. */
  #inTouch(node: Machine, isWitness: (other: Machine) => boolean): number {
    return this.#zone.world.machines.filter(
      other =>
        other === node || (other.isMember && isWitness(other) && this.#canReach(other, node)),
    ).length
  }

  #learn(machine: Machine): void {
    const { world } = this.#zone
    const now = this.#now
    const facts = this.#factsOf(machine.name)
    const members = world.machines.filter(({ isMember }) => isMember)
    const quorum = quorumOf(members.length)
    const isSound = this.#isSound(machine)
    const canSee = (other: Machine): boolean =>
      this.#isTalking(other) && !other.isBlind && !other.isUnable && !this.#isMoved(other)
    if (world.cluster.isCut(machine.name)) facts.linkCutAt = now
    this.#noteTurn(machine, facts)
    const isWitnessed = members.length === 2 && now - facts.linkCutAt > WITNESS_MS
    const isReached = this.#inTouch(machine, canSee) >= quorum || isWitnessed
    if (!isSound) facts.unsoundAt = now
    if (!isSound || !isReached || !machine.isMember || this.#isMoved(machine)) {
      facts.troubleAt = now
      facts.wasInTrouble ||= this.#isBegun
    }
    if (machine.isOn && !machine.isFrozen && isReached) facts.presentAt = now
    if (machine.isOn || machine.impostor !== undefined) facts.aliveAt = now
    this.#noteMajority(machine, facts, members.length === 2 ? 1 : quorum)
    if (machine.isMember) facts.memberAt = now
    const isPingBroken = this.#zone.pingBroken.has(machine.name)
    if (isPingBroken) this.note('not-cut', undefined)
    if (isPingBroken || facts.linkCutAt === now) facts.linkBadAt = now
    if (!canSee(machine)) facts.blindAt = now
    for (const other of world.machines)
      if (other !== machine && !this.#canReach(machine, other)) facts.cutAt.set(other.name, now)
  }

  /** A majority's word reached it: by open links just now, or brought to it by the outsider, who may. */
  #noteMajority(machine: Machine, facts: Facts, quorum: number): void {
    if (!this.#isTalking(machine)) return
    const { world, outsider } = this.#zone
    const brought = outsider.broughtTo(machine.address)
    const heardAt = world.machines.map(other => {
      if (other === machine) return this.#now
      if (!other.isMember) return -Infinity
      if (this.#isTalking(other) && this.#canReach(other, machine)) return this.#now
      const words = brought.filter(
        ({ from, saidAt, at }) =>
          from === other.address && at <= this.#now && at - saidAt <= UNDER_WAY_MS,
      )
      return Math.max(...words.map(({ saidAt }) => saidAt), -Infinity)
    })
    const majorityAt = heardAt.sort((a, b) => b - a)[quorum - 1] ?? -Infinity
    facts.majorityAt = Math.max(facts.majorityAt, majorityAt)
  }

  #noteTurn({ name, agent, isMember }: Machine, facts: Facts): void {
    const { world, pingBroken } = this.#zone
    const isBad = world.cluster.isCut(name) || pingBroken.has(name)
    const { agent: known, isBad: wasBad, isMember: wasMember } = this.#links.get(name) ?? {}
    if (known !== agent || wasBad !== isBad) facts.turnedAt.push(this.#now)
    if (this.#links.has(name) && (known !== agent || isMember !== wasMember))
      this.#forgotAt.push(this.#now)
    this.#links.set(name, { agent, isBad, isMember })
  }

  #review(write: Write): void {
    const { by, node, kind } = write
    const actor = this.#facts.get(by)
    const target = this.#facts.get(node)
    if (kind === 'lease' && target !== undefined) this.#beat(write, target)
    if (actor === undefined || target === undefined) return
    const what = `${by} writes ${node}/${kind} at ${write.at}`
    this.note('leaver', write.at - actor.memberAt > LEFT_MS ? what : undefined)
    const alone = write.at - actor.majorityAt
    this.note(
      'minority',
      alone > MARK_MAJORITY_MS ? `${what}, ${alone} ms without a majority` : undefined,
    )
    if (kind === 'lease') this.#reviewLease(write, target, what)
    else this.#reviewMark(write, { actor, target, what })
  }

  /** As the node-lifecycle controller: only a later time than all before is a sign of life. */
  #beat({ renewTime, at, by, wall }: Write, target: Facts): void {
    const time = Date.parse(renewTime[1])
    const isOwn = by.startsWith('kubelet/')
    const isRight = Math.abs(time - wall) <= CLOCK_MS
    if (isOwn && !isRight) target.isSkewed = true
    if (!(time > target.latest)) return
    target.latest = time
    target.beatAt = at
    if (isOwn && isRight) target.isSkewed = false
  }

  /** What its own kubelet's wrong clock does to a node is not ours to mend. */
  #reviewPulse({ name }: Machine): void {
    const { beatAt, isSkewed, linkCutAt, unsoundAt } = this.#factsOf(name)
    const now = this.#now
    if (isSkewed || now - Math.max(linkCutAt, unsoundAt) < PULSE_MS) return
    const silentMs = now - beatAt
    this.note(
      'pulse',
      silentMs > PULSE_MS ? `no later renewTime of ${name} for ${silentMs} ms` : undefined,
    )
  }

  #reviewMark(
    { node, by, at, mark, tainted }: Write,
    { actor, target, what }: { actor: Facts; target: Facts; what: string },
  ): void {
    const [before, after] = mark
    const isMember = this.#zone.world.machines.some(each => each.name === node && each.isMember)
    if (after) target.markedAt = Math.min(target.markedAt, at)
    if (!before && after) {
      const soundMs = at - target.troubleAt
      this.note(
        'sound-marked',
        soundMs > UP_MS ? `${what}: marks a node that has been well for ${soundMs} ms` : undefined,
      )
      this.#reviewBrake(what)
    }
    if (before && !after) {
      const deadMs = at - target.aliveAt
      // One that was alive after it was marked may have died again while the mark was on its way off.
      const wasDead = target.aliveAt + STEP_MS < target.markedAt
      target.markedAt = Infinity
      this.note(
        'dead-cleared',
        isMember && (wasDead || deadMs > DEAD_MS)
          ? `${what}: takes the mark off a node dead for ${deadMs} ms`
          : undefined,
      )
      const alone = at - actor.majorityAt
      this.note(
        'unconfirmed',
        alone > CLEAR_MAJORITY_MS
          ? `${what}: takes a mark off, ${alone} ms without a majority`
          : undefined,
      )
    }
    if (tainted.includes(CUT_TAINT)) {
      const linkedMs = at - Math.max(target.linkCutAt, target.unsoundAt)
      this.note(
        'not-cut',
        linkedMs > LINKED_MS
          ? `${what}: calls a node cut whose Lease is renewed by itself`
          : undefined,
      )
    }
    if (tainted.includes(CUT_TAINT)) this.#reviewDamping(node, by, at)
  }

  /** What docs/operations.md promises: after the second cut the marks stay until the link was whole for a minute. */
  #reviewDamping(node: string, by: string, at: number): void {
    const { writes, events } = this.#zone.world.cluster
    const isRecent = (when: number): boolean => when > at - MINUTE_MS && when <= at
    const cuts = writes.filter(
      write => write.node === node && isRecent(write.at) && write.tainted.includes(CUT_TAINT),
    ).length
    const most = 2 + 2 * this.#forgotAt.filter(isRecent).length
    const what = `${by} marks ${node} as cut for the ${cuts}th time in a minute`
    this.note('damped', cuts > most ? what : undefined)
    const told = events.filter(event => event.node === node && event.by === by)
    const shown = `${by} told ${told.length} Events about ${node}`
    this.note('damped', told.length > MOST_EVENTS * this.#livesOf(by) ? shown : undefined)
  }

  #livesOf(name: string): number {
    return 1 + this.#forgotAt.length + this.#factsOf(name).turnedAt.length
  }

  /** Marks on nodes that are truly away may not be more than the brake's share. */
  #reviewBrake(what: string): void {
    const { machines, cluster } = this.#zone.world
    const members = machines.filter(({ isMember }) => isMember)
    const limit = Math.max(1, Math.floor(BRAKE_SHARE * this.#zone.size))
    const marked = members.filter(
      ({ name }) =>
        cluster.node(name).annotations['nodeunhealth'] === 'yes' &&
        this.#now - this.#factsOf(name).presentAt > UP_MS,
    )
    const names = marked.map(({ name }) => name).join()
    this.note(
      'braked',
      marked.length > limit ? `${what}: ${names} are marked, ${limit} may be` : undefined,
    )
  }

  #reviewLease({ renewTime, wall, at }: Write, target: Facts, what: string): void {
    const [before, after] = renewTime
    this.note(
      'lease-back',
      Date.parse(after) < Date.parse(before) ? `${what}: from ${before} to ${after}` : undefined,
    )
    const aheadMs = Date.parse(after) - wall
    this.note(
      'lease-ahead',
      aheadMs > CLOCK_MS ? `${what}: ${after} is ${aheadMs} ms ahead` : undefined,
    )
    const deadMs = at - target.aliveAt
    this.note(
      'lease-of-dead',
      deadMs > DEAD_LEASE_MS ? `${what}: it has been dead for ${deadMs} ms` : undefined,
    )
  }

  #reviewView(machine: Machine): void {
    const now = this.#now
    const facts = this.#factsOf(machine.name)
    if (machine.agent === undefined || now - facts.blindAt < VIEW_MS || !machine.isMember) return
    if (now - facts.unsoundAt < VIEW_MS) return
    // What answers at an address of two tells of neither.
    if (this.#zone.moved.size > 0) return
    for (const { name, isUp } of machine.agent.views.localView().nodes) {
      const target = this.#facts.get(name)
      // Who was in trouble before may be held down a while: it flaps.
      if (target === undefined || target.wasInTrouble) continue
      if (this.#isDoubtful(facts, target, name)) continue
      this.note('view', isUp ? undefined : `${machine.name} calls ${name} down`)
    }
  }

  /** The link is, or was, broken; or that of another one, and this agent began just now: it has the others' word alone. */
  #isDoubtful(viewer: Facts, target: Facts, name: string): boolean {
    const isRecent = (at = -Infinity): boolean => this.#now - at < VIEW_MS
    if (isRecent(viewer.cutAt.get(name))) return true
    return isRecent(viewer.turnedAt.at(-1)) && [...target.cutAt.values()].some(isRecent)
  }

  #follow({ name, agent, isFrozen }: Machine): void {
    const known = this.#followers.get(name)
    if (agent === undefined || known?.agent !== agent) {
      known?.stop()
      this.#followers.delete(name)
      if (agent !== undefined)
        this.#followers.set(name, new Follower(agent, this.#zone.world.clock))
      return
    }
    if (isFrozen) return
    const difference = known.difference()
    this.note('stream', difference === undefined ? undefined : `${name}: ${difference}`)
  }

  /**
   * What docs/operations.md promises: each agent waits longer after each refusal, half a second at first and half a minute
   * in the end, a third less at the most, and never less than it is asked to; but the Lease of a node that is vouched for
   * is read once in good time, and then once in its duration. A new life, and a link that turned, begin anew.
   */
  #reviewRefusing(): void {
    const { refusing } = this.#zone
    if (refusing === undefined) return
    const { since, retryAfterMs = 0, asked } = refusing
    for (const { name } of this.#zone.world.machines) {
      const own = asked.filter(({ by }) => by === name)
      if (own.length === 0) continue
      // What leaves together with the first cannot know of its refusal.
      const late = own.filter(({ at }) => at > own[0]!.at + ROUND_TRIP_MS)
      const elapsedMs = this.#now - own[0]!.at
      const begun = 1 + this.#factsOf(name).turnedAt.filter(at => at > since).length
      const vouched = [...this.#facts.values()].filter(
        ({ linkBadAt }) => linkBadAt > Math.max(this.#beganAt, since - LEASE_MS),
      )
      const most =
        begun * askedAtMost(elapsedMs, retryAfterMs) -
        1 +
        (begun - 1) * this.#zone.size +
        vouched.length * (1 + Math.ceil(elapsedMs / LEASE_MS))
      this.note(
        'patient',
        late.length > most
          ? `${late.length} requests of ${name} while it refuses, at most ${most}`
          : undefined,
      )
    }
  }
}
