// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../core/clock.js'
import { KubeStatusError } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { NodeView } from '../../core/node.js'
import type { Random } from '../../core/random.js'
import type { KubeApi } from '../ports/kube-api.js'
import { majoritySpokeAt } from '../../vote/condemn.js'
import { carriesCutMarks, type Wish } from '../../vote/plan.js'
import { eventFor, type EventWords } from '../../vote/reason.js'
import type { VouchEnd } from '../../vote/vouch.js'
import type { AgentOptions } from '../options/agent-options.js'
import type { ResultStore, ZoneState } from '../store.js'
import { Departed } from './departed.js'
import { makeEventTeller, type EventTeller } from './event-teller.js'
import { makeLeaseKeeper, type LeaseKeeper } from './lease-keeper.js'
import { LinkFlaps } from './link-flaps.js'
import { WriteAuthority } from './write-authority.js'
import { bringAbout, guardOf, type Record, type Task, type TaskEnd } from './node-writer.js'
import { RequestBackoff } from './request-backoff.js'
import { makeTaintKeeper, type TaintKeeper } from './taint-keeper.js'
import { Turns, type NextWrite } from './turns.js'
import { differs, planWish, planYoungVouch, wishFor, wordingOf, wordsFor } from './wishes.js'

/** Ranks that look after the Leases of vouched nodes: the writer and one to stand by. */
const LEASE_RANKS = 2
/** How often to look whether a majority has spoken. */
const CONFIRM_MS = 500

interface WriterSeams {
  readonly kube: KubeApi
  readonly clock: Clock
  readonly random: Random
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
  /** Until when the marks of a node whose link comes and goes stay; −Infinity for no time. */
  heldUntil(node: string): number
  /** How the quarrel about the node's taint stands, in words. */
  fight(node: string): string | undefined
  /** This agent was suspended: give up what is under way, and forget whose turn it was. */
  resumed(): void
  stop(): Promise<void>
}

const nothing = { kind: 'nothing' } as const

const isGone = (error: unknown): boolean => error instanceof KubeStatusError && error.status === 404

/** The next write by what is true when it is asked; nothing where it is not ours to write any more. */
type Plan = Task['plan']

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
  readonly #authority: WriteAuthority
  readonly #turns: Turns
  readonly #backoff: RequestBackoff
  readonly #flaps = new LinkFlaps()
  /** Work on Nodes, and on the Leases of those who are vouched for, by name. */
  readonly #writing = new Map<string, Promise<void>>()
  readonly #renewing = new Map<string, Promise<void>>()
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
    this.#authority = new WriteAuthority(options, {
      ...{ ...seams, signal: this.#stopping.signal },
      isHeld: name => this.#leases.isHeld(name),
    })
    this.#turns = new Turns(options)
    this.#backoff = new RequestBackoff(seams)
    this.#leases = makeLeaseKeeper(options, seams)
    this.#taints = makeTaintKeeper(seams)
    const { signal } = this.#stopping
    const backoff = this.#backoff
    this.#events = makeEventTeller(options.nodeName, { ...seams, signal, backoff })
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
    return state && this.#turns.next(node, () => this.#authority.turn(state, node)?.rank)
  }

  heldUntil(node: string): number {
    return this.#flaps.heldUntil(node)
  }

  fight(node: string): string | undefined {
    const state = this.#seams.store.zone.current
    if (state === undefined) return undefined
    return this.#taints.fight(node, wordingOf(state, this.#seams.clock.now()))
  }

  review(): string {
    this.#cancelTimer()
    if (this.#stopping.signal.aborted) return 'nothing is written: stopping'
    const { store, clock } = this.#seams
    if (store.zone.current !== undefined) this.#noteRoster(store.zone.current)
    const permission = this.#authority.permission
    if (permission.kind === 'denied') {
      // The present truth is written later; what was wanted before does not matter then.
      this.#turns.clear()
      if (store.cloudLink.current.state !== 'up') {
        this.#backoff.linkLost()
        this.#leases.linkLost()
      }
      return `nothing is written: ${permission.why}`
    }
    const { state } = permission
    let nextAt = Infinity
    for (let index = 0; index < state.table.size; index++)
      nextAt = Math.min(nextAt, this.#reviewMember(state, index))
    for (const node of this.#departed.names)
      nextAt = Math.min(nextAt, this.#reviewDeparted(state, node))
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
    await Promise.all([...this.#writing.values(), ...this.#renewing.values()])
  }

  /** What is written as the present time: the apiserver's if it says it, since the own clock may be wrong. */
  #wall(): number {
    const { kube, clock } = this.#seams
    return kube.serverTime() ?? clock.wall()
  }

  /** What is remembered of nodes goes with them. */
  #noteRoster({ roster }: ZoneState): void {
    if (!this.#departed.note(roster, this.#seams.clock.now())) return
    const isMember = (name: string): boolean => roster.indexOf(name) !== undefined
    this.#turns.keepOnly(isMember)
    this.#backoff.keepOnly(isMember)
    this.#flaps.keepOnly(isMember)
    this.#taints.keepOnly(isMember)
    this.#leases.keepOnly(isMember)
    this.#events.keepOnly(name => isMember(name) || this.#departed.has(name))
    for (const name of this.#written.keys()) if (!isMember(name)) this.#written.delete(name)
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
    const wish = this.#authority.wish(state, index)
    const isVouched = wishFor(state, index) === 'vouched'
    const youngUntil = wish === 'vouched' ? this.#authority.youngUntil(state, index) : -Infinity
    const isYoung = now < youngUntil
    const leaseAt = isVouched ? this.#reviewVouching(state, name, node) : Infinity
    const noticedAt = isVouched ? this.#authority.noticedAt(state, index) : -Infinity
    const vouchAt = now < noticedAt ? Math.min(leaseAt, noticedAt) : leaseAt
    const heldUntil = this.#noteLink(state, index)
    if (node === undefined || this.#writing.has(name)) return vouchAt
    if (!differs(node, wish, isYoung, this.#o)) {
      this.#turns.forget(name)
      return vouchAt
    }
    const notBefore = carriesCutMarks(node) ? heldUntil : -Infinity
    const dueAt = this.#dueAt(state, name, { wish, notBefore })
    if (dueAt > now) return Math.min(vouchAt, dueAt)
    this.#start(this.#writing, name, this.#bringMember(name, node, wish))
    return vouchAt
  }

  /** When to write about the node, or to look again whether it is our turn; not later than now if it is. */
  #dueAt(
    state: ZoneState,
    name: string,
    { wish, notBefore }: { readonly wish: Wish; readonly notBefore: number },
  ): number {
    const { clock } = this.#seams
    const now = clock.now()
    const turn = this.#authority.turn(state, name)
    const turnAt = this.#turns.dueAt(name, wish, { turn, now })
    if (turn === undefined) return Infinity
    if (!this.#isConfirmed(state, name, wish)) return now + CONFIRM_MS
    // What takes one request at a time is asked again when the one that runs has ended.
    if (this.#backoff.isFailing && this.#writing.size > 0) return Infinity
    const dueAt = Math.max(turnAt, notBefore, this.#backoff.readyAt(name))
    // Somebody before us may fall silent at any time.
    return turnAt > now ? Math.min(dueAt, now + this.#o.writerStaggerMs / 2) : dueAt
  }

  /** Every agent counts the cuts of a link alike, whoever writes. @returns until when the marks of a whole one stay. */
  #noteLink(state: ZoneState, index: number): number {
    const { name } = state.roster.members[index]!
    const now = this.#seams.clock.now()
    const link = wishFor(state, index)
    if (link === 'vouched') {
      if (now >= this.#authority.noticedAt(state, index)) this.#flaps.cut(name, now)
      else this.#flaps.broken(name)
    }
    return link === 'healthy' ? this.#flaps.whole(name, now) : -Infinity
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
    const rank = this.#authority.turn(state, name)?.rank
    if (rank === undefined) return Infinity
    const lookAt = this.#reviewLease(name, rank)
    if (this.#o.vouch !== 'taint' || this.#leases.isHeld(name) !== false) return lookAt
    return Math.min(lookAt, this.#reviewTaint(state, node, rank))
  }

  #reviewLease(name: string, rank: number): number {
    if (rank >= LEASE_RANKS || this.#renewing.has(name)) return Infinity
    const dueAt = this.#leases.dueAt(name)
    if (dueAt > this.#seams.clock.now()) return dueAt
    const guard = guardOf(() => this.#authority.isVouchedNow(name), this.#seams.judge)
    const look = this.#leases.look(name, rank, { signal: this.#present.signal, guard })
    this.#start(this.#renewing, name, look)
    return Infinity
  }

  #reviewTaint(state: ZoneState, node: NodeView | undefined, rank: number): number {
    if (rank !== 0 || node === undefined || this.#writing.has(node.name)) return Infinity
    const { name } = node
    const now = this.#seams.clock.now()
    const readyAt = this.#backoff.readyAt(name)
    if (readyAt > now) return readyAt
    const { isDue, nextAt } = this.#taints.review(node, wordingOf(state, now))
    if (!isDue) return nextAt
    const what = 'take the unreachable taint off'
    const plan = this.#taints.removal()
    const isWanted = (): boolean => this.#authority.wishNow(name) === 'vouched'
    const work = this.#carryOut({ node: name, what, plan, isWanted })
    this.#start(
      this.#writing,
      name,
      work.then(() => undefined),
    )
    return nextAt
  }

  /** Take our marks off a node that left; returns when to look again. */
  #reviewDeparted(state: ZoneState, name: string): number {
    if (this.#writing.has(name)) return Infinity
    const { store, clock } = this.#seams
    if (!this.#departed.isOursToClean(name, state.roster)) {
      this.#departed.forget(name)
      this.#turns.forget(name)
      return Infinity
    }
    const dueAt = this.#dueAt(state, name, { wish: 'left', notBefore: -Infinity })
    if (dueAt > clock.now()) return dueAt
    const at = new Date(this.#wall()).toISOString()
    const words = { message: 'this node left the zone', at }
    const isWanted = (): boolean => {
      const now = this.#authority.permission
      return (
        now.kind === 'granted' &&
        this.#authority.turn(now.state, name) !== undefined &&
        this.#departed.isOursToClean(name, now.state.roster)
      )
    }
    // The list that it is missing from may be what is wrong.
    const plan: Plan = node =>
      store.nodeList.current.isOfZone(node) ? nothing : planWish(node, 'left', words, this.#o)
    const task = { node: name, what: 'take our marks off', plan, isWanted }
    const work = this.#carryOut(task).then(end => {
      // A Node that is gone from the API is refused with 404: there is nothing left to clean.
      if (end.result !== 'done' && !isGone(end.error)) return
      this.#departed.forget(name)
      this.#turns.forget(name)
    })
    this.#start(this.#writing, name, work)
    return Infinity
  }

  #start(running: Map<string, Promise<void>>, name: string, work: Promise<void>): void {
    const done = work.finally(() => {
      running.delete(name)
      this.review()
    })
    running.set(name, done)
  }

  /**
   * Write what is true at the moment of each write, not what was true when the turn came. Where something else is
   * wanted by then, that has a turn of its own.
   */
  async #bringMember(name: string, before: NodeView, what: Wish): Promise<void> {
    const { store, clock } = this.#seams
    let event: EventWords | undefined
    const plan: Plan = node => {
      if (what === 'keep') return nothing
      const state = store.zone.current!
      const index = state.roster.indexOf(name)!
      const at = { now: clock.now(), wall: this.#wall(), o: this.#o }
      const { opinion, words } = wordsFor(state, index, what, at)
      if (what === 'vouched' && at.now < this.#authority.youngUntil(state, index))
        return planYoungVouch(node, words, this.#o)
      event = eventFor(what, opinion, wordingOf(state, at.now))
      return planWish(node, what, words, this.#o)
    }
    const isWanted = (): boolean => what !== 'keep' && this.#authority.wishNow(name) === what
    const end = await this.#carryOut({ node: name, what, plan, isWanted })
    if (end.written === 0 || event === undefined || end.node === undefined) return
    await this.#events.tell(end.node, event)
    await this.#events.tellVouchEnd(end.node, before, what)
  }

  async #carryOut(task: Task): Promise<TaskEnd> {
    const { kube, record, store, judge } = this.#seams
    const { node: name } = task
    const seen = store.nodeList.current.nodes.get(name)
    const { signal } = this.#present
    const end = await bringAbout(task, { kube, record, judge, signal })
    const isMember = store.nodeList.current.roster?.indexOf(name) !== undefined
    if (end.node !== undefined && isMember) this.#written.set(name, { seen, node: end.node })
    if (end.result === 'done') this.#backoff.succeeded(name)
    else if (end.result !== 'withheld' && !signal.aborted) this.#backoff.failed(end.error, name)
    return end
  }
}

export const makeWriter = (options: AgentOptions, seams: WriterSeams): Writer =>
  new LevelWriter(options, seams)
