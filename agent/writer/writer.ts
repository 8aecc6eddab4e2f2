// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../core/clock.js'
import { id64 } from '../../core/ids.js'
import type { Logger } from '../../core/log.js'
import type { NodeView } from '../../core/node.js'
import type { KubeApi } from '../../kube/api.js'
import { majoritySpokeAt } from '../../vote/condemn.js'
import { CLASSES } from '../../vote/judgement.js'
import type { Wish } from '../../vote/plan.js'
import { eventFor, type EventWords } from '../../vote/reason.js'
import type { VouchEnd } from '../../vote/vouch.js'
import { writerRank } from '../../vote/writer.js'
import type { AgentOptions } from '../options/agent-options.js'
import type { ResultStore, ZoneState } from '../store.js'
import { Departed } from './departed.js'
import { makeEventTeller, type EventTeller } from './event-teller.js'
import { makeLeaseKeeper, type LeaseKeeper } from './lease-keeper.js'
import { bringAbout, guardOf, type Record, type Task, type TaskEnd } from './node-writer.js'
import { makeTaintKeeper, type TaintKeeper } from './taint-keeper.js'
import { Turns, type NextWrite } from './turns.js'
import { differs, planWish, planYoungVouch, wishFor, wordingOf, wordsFor } from './wishes.js'

/** Ranks that look after the Leases of vouched nodes: the writer and one to stand by. */
const LEASE_RANKS = 2
/** The cloud link is looked at once in so many periods, at the latest. */
const LINK_PERIODS = 1.1
/** How often to look whether a majority has spoken. */
const CONFIRM_MS = 500

interface WriterSeams {
  readonly kube: KubeApi
  readonly clock: Clock
  readonly log: Logger
  readonly store: ResultStore
  readonly record: Record
  /** Judge by what is known at this moment; whoever was suspended meanwhile is told first. */
  readonly judge: () => void
}

/** Brings the cluster to what the zone decided, if it is this agent's turn. */
export interface Writer extends Pick<LeaseKeeper, 'isOurs'> {
  /** Look at everybody; start what is due. Says in words what there is to do. */
  review(): string
  /** Vouching for the node ended. */
  vouchEnded(node: string, why: VouchEnd): void
  nextWrite(node: string): NextWrite | undefined
  /** How the quarrel about the node's taint stands, in words. */
  fight(node: string): string | undefined
  /** This agent was suspended: give up what is under way, and forget whose turn it was. */
  resumed(): void
  stop(): Promise<void>
}

const nothing = { kind: 'nothing' } as const

/** A level-triggered writer: it keeps no queue, so after an outage it writes what is true then, not what was. */
class LevelWriter implements Writer {
  readonly #o: AgentOptions
  readonly #seams: WriterSeams
  readonly #leases: LeaseKeeper
  readonly #taints: TaintKeeper
  readonly #events: EventTeller
  readonly #stopping = new AbortController()
  /** Ends what is under way, at a suspension or at the end. */
  #present = new AbortController()
  readonly #turns: Turns
  readonly #running = new Map<string, Promise<void>>()
  /** Nodes as our own writes left them, until the watch has caught up. */
  readonly #written = new Map<
    string,
    { readonly seen: NodeView | undefined; readonly node: NodeView }
  >()
  readonly #departed = new Departed()
  #cancelTimer: () => void = () => undefined

  constructor(options: AgentOptions, seams: WriterSeams) {
    this.#o = options
    this.#seams = seams
    // Requests about several nodes run beside each other, and those are bounded by the zone's size.
    setMaxListeners(0, this.#stopping.signal, this.#present.signal)
    this.#turns = new Turns(options)
    this.#leases = makeLeaseKeeper(options, seams)
    this.#taints = makeTaintKeeper(seams)
    this.#events = makeEventTeller(options.nodeName, { ...seams, signal: this.#stopping.signal })
  }

  isOurs(node: string, renewTime: string): boolean {
    return this.#leases.isOurs(node, renewTime)
  }

  vouchEnded(node: string, why: VouchEnd): void {
    this.#events.vouchEnded(node, why)
    this.#leases.forget(node)
  }

  nextWrite(node: string): NextWrite | undefined {
    const state = this.#seams.store.zone.current
    return state && this.#turns.next(node, () => this.#rank(state, node))
  }

  fight(node: string): string | undefined {
    const state = this.#seams.store.zone.current
    if (state === undefined) return undefined
    return this.#taints.fight(node, wordingOf(state, this.#seams.clock.now()))
  }

  review(): string {
    this.#cancelTimer()
    const { store, clock } = this.#seams
    const state = store.zone.current
    if (state === undefined || this.#stopping.signal.aborted) return 'nothing is known yet'
    if (store.cloudLink.current.state !== 'up') {
      // The present truth is written after the outage; what was wanted before it does not matter then.
      this.#turns.clear()
      return 'nothing is written: no link to the apiserver'
    }
    for (const name of this.#departed.note(state.roster)) this.#turns.forget(name)
    let nextAt = Infinity
    for (let index = 0; index < state.table.size; index++)
      nextAt = Math.min(nextAt, this.#reviewMember(state, index))
    for (const node of this.#departed.names) this.#reviewDeparted(state, node)
    if (nextAt < Infinity)
      this.#cancelTimer = clock.after(Math.max(1, nextAt - clock.now()), () => this.review())
    return this.#turns.size === 0 ? 'all is written' : `${this.#turns.size} nodes to be written`
  }

  resumed(): void {
    this.#present.abort(new Error('this agent was suspended meanwhile'))
    this.#present = new AbortController()
    setMaxListeners(0, this.#present.signal)
    this.#turns.clear()
    this.#leases.forgetAll()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#present.abort()
    this.#cancelTimer()
    await Promise.all(this.#running.values())
  }

  #rank(state: ZoneState, node: string): number | undefined {
    const { roster, judgement, table } = state
    const target = { index: roster.indexOf(node) ?? -1, id: id64(node) }
    return writerRank(
      judgement,
      table,
      target,
      roster.members.map(member => member.id),
    )
  }

  /** What is written as the present time: the apiserver's if it says it, since the own clock may be wrong. */
  #wall(): number {
    const { kube, clock } = this.#seams
    return kube.serverTime() ?? clock.wall()
  }

  /** What the zone wants of the member now; undefined for one that is none. */
  #wishOf(name: string): Wish | undefined {
    const state = this.#seams.store.zone.current
    const index = state?.roster.indexOf(name)
    return state === undefined || index === undefined ? undefined : this.#wish(state, index)
  }

  /** Nobody is said to be cut off whose kubelet renews its Lease, whatever its agent says. */
  #wish(state: ZoneState, index: number): Wish {
    const wish = wishFor(state, index)
    const isHeld = wish === 'vouched' && this.#leases.isHeld(state.roster.members[index]!.name)
    return isHeld === true ? 'healthy' : wish
  }

  #isVouched(name: string): boolean {
    const state = this.#seams.store.zone.current
    const index = state?.roster.indexOf(name)
    return state !== undefined && index !== undefined && wishFor(state, index) === 'vouched'
  }

  #nodeOf(name: string): NodeView | undefined {
    const seen = this.#seams.store.nodeList.current.nodes.get(name)
    const own = this.#written.get(name)
    if (own !== undefined && own.seen === seen) return own.node
    this.#written.delete(name)
    return seen
  }

  /** Start what is due about one member; returns when to look again. */
  #reviewMember(state: ZoneState, index: number): number {
    const { name } = state.roster.members[index]!
    const now = this.#seams.clock.now()
    const node = this.#nodeOf(name)
    const wish = this.#wish(state, index)
    const isVouched = wishFor(state, index) === 'vouched'
    const youngUntil = wish === 'vouched' ? this.#youngUntil(state, index) : -Infinity
    const isYoung = now < youngUntil
    const leaseAt = isVouched ? this.#reviewVouching(state, name, node) : Infinity
    const vouchAt = isYoung ? Math.min(leaseAt, youngUntil) : leaseAt
    if (node === undefined || this.#running.has(name)) return vouchAt
    if (!differs(node, wish, isYoung, this.#o)) {
      this.#turns.forget(name)
      return vouchAt
    }
    const dueAt = this.#turns.dueAt(name, wish, { rank: this.#rank(state, name), now })
    if (!this.#isConfirmed(state, name, wish)) return Math.min(vouchAt, now + CONFIRM_MS)
    if (dueAt > now) return Math.min(vouchAt, dueAt)
    this.#start(name, this.#bringMember(name, node, wish))
    return vouchAt
  }

  /**
   * When every agent whose link came back together with the first one has noticed; +Infinity while none has, and before
   * the node's Lease was looked at.
   */
  #youngUntil({ judgement: j, roster }: ZoneState, index: number): number {
    if (CLASSES[j.nodeClass[index]!] !== 'cloud-link-cut') return Infinity
    if (this.#leases.isHeld(roster.members[index]!.name) === undefined) return Infinity
    const { cloudCheckPeriodMs, cloudCheckTimeoutMs } = this.#o
    return j.classAt[index]! + LINK_PERIODS * cloudCheckPeriodMs + cloudCheckTimeoutMs
  }

  /**
   * Marks that we would take off may have been put on by a majority that we have just lost: it must have spoken since
   * we saw the difference. A condemnation waited for the same before it became final.
   */
  #isConfirmed({ judgement, table }: ZoneState, name: string, wish: Wish): boolean {
    if (wish === 'dead' || wish === 'kubelet-sick') return true
    return majoritySpokeAt(judgement, table) > this.#turns.since(name)
  }

  /** Keep a vouched node's heartbeat or its taints; returns when to look again. */
  #reviewVouching(state: ZoneState, name: string, node: NodeView | undefined): number {
    const rank = this.#rank(state, name)
    if (rank === undefined) return Infinity
    const lookAt = this.#reviewLease(name, rank)
    if (this.#o.vouch !== 'taint' || this.#leases.isHeld(name) !== false) return lookAt
    return Math.min(lookAt, this.#reviewTaint(state, node, rank))
  }

  #reviewLease(name: string, rank: number): number {
    const key = `vouch for ${name}`
    if (rank >= LEASE_RANKS || this.#running.has(key)) return Infinity
    const dueAt = this.#leases.dueAt(name)
    if (dueAt > this.#seams.clock.now()) return dueAt
    const guard = guardOf(() => this.#isVouched(name), this.#seams.judge)
    this.#start(key, this.#leases.look(name, rank, { signal: this.#present.signal, guard }))
    return Infinity
  }

  #reviewTaint(state: ZoneState, node: NodeView | undefined, rank: number): number {
    if (rank !== 0 || node === undefined || this.#running.has(node.name)) return Infinity
    const wording = wordingOf(state, this.#seams.clock.now())
    const { isDue, nextAt } = this.#taints.review(node, wording)
    if (!isDue) return nextAt
    const what = 'take the unreachable taint off'
    const wish = (): Wish | undefined => this.#wishOf(node.name)
    const work = this.#carryOut({ node: node.name, what, plan: this.#taints.removal(), wish })
    this.#start(
      node.name,
      work.then(() => undefined),
    )
    return nextAt
  }

  #reviewDeparted(state: ZoneState, name: string): void {
    if (this.#running.has(name)) return
    if (this.#rank(state, name) !== 0) {
      this.#departed.forget(name)
      return
    }
    const at = new Date(this.#wall()).toISOString()
    const words = { message: 'this node left the zone', at }
    const plan: Task['plan'] = node => planWish(node, 'left', words, this.#o)
    const wish = (): Wish | undefined => (this.#wishOf(name) === undefined ? 'left' : undefined)
    const task = { node: name, what: 'take our marks off', plan, wish }
    const work = this.#carryOut(task).then(end => {
      // A Node that is gone from the API is refused with 404: there is nothing left to clean.
      if (end.result === 'done' || end.result === 'refused') this.#departed.forget(name)
    })
    this.#start(name, work)
  }

  #start(key: string, work: Promise<void>): void {
    const done = work.finally(() => {
      this.#running.delete(key)
      this.review()
    })
    this.#running.set(key, done)
  }

  /** Write what is true at the moment of each write, not what was true when the turn came. */
  async #bringMember(name: string, before: NodeView, what: Wish): Promise<void> {
    const { store, clock } = this.#seams
    let said: { readonly wish: Wish; readonly event: EventWords } | undefined
    const plan: Task['plan'] = node => {
      const state = store.zone.current
      const index = state?.roster.indexOf(name)
      if (state === undefined || index === undefined) return nothing
      const wish = this.#wish(state, index)
      if (wish === 'keep') return nothing
      const at = { now: clock.now(), wall: this.#wall(), o: this.#o }
      const { opinion, words } = wordsFor(state, index, wish, at)
      if (wish === 'vouched' && at.now < this.#youngUntil(state, index))
        return planYoungVouch(node, words, this.#o)
      said = { wish, event: eventFor(wish, opinion, wordingOf(state, at.now)) }
      return planWish(node, wish, words, this.#o)
    }
    const end = await this.#carryOut({ node: name, what, plan, wish: () => this.#wishOf(name) })
    if (end.written === 0 || said === undefined || end.node === undefined) return
    await this.#events.tell(end.node, said.event)
    await this.#events.tellVouchEnd(end.node, before, said.wish)
  }

  async #carryOut(task: Task): Promise<TaskEnd> {
    const { kube, record, store, clock, judge } = this.#seams
    const seen = store.nodeList.current.nodes.get(task.node)
    const end = await bringAbout(task, { kube, record, judge, signal: this.#present.signal })
    if (end.node !== undefined) this.#written.set(task.node, { seen, node: end.node })
    if (end.result !== 'done') this.#turns.retryLater(task.node, clock.now())
    return end
  }
}

export const makeWriter = (options: AgentOptions, seams: WriterSeams): Writer =>
  new LevelWriter(options, seams)
