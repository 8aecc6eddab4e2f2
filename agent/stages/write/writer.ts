// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import type { NodeView } from '../../../core/node.js'
import type { Random } from '../../../core/random.js'
import type { KubeApi } from '../../ports/kube-api.js'
import { majoritySpokeAt } from '../../../vote/majority.js'
import { NOTHING } from '../../../plan/patch.js'
import { carriesCutMarks, type DesiredMarks } from '../../../plan/node-plan.js'
import { eventFor, type EventWords } from '../../../plan/messages.js'
import { isVouched, type VouchEnd } from '../../../vote/vouch.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { Cleaning } from './cleaning.js'
import { ConfinementCheck, type Confinement } from './confinement.js'
import { makeEventRecorder, type EventRecorder } from './event-recorder.js'
import { KnownNodes } from './known-nodes.js'
import { LinkFlaps } from './link-flaps.js'
import { WriteAuthority } from './write-authority.js'
import { NodeWork } from './node-work.js'
import type { Task, WriteRecorder } from './node-writer.js'
import { RequestBackoff } from './request-backoff.js'
import { WriteSchedule, type NextWrite } from './write-schedule.js'
import type { Reviews } from './stage-status.js'
import { Vouching } from './vouching.js'
import { planMarks, planYoungVouch, desiredMarksFor, wordingOf, wordsFor } from './desired-marks.js'

/** How often to look whether a majority has spoken. */
const CONFIRM_MS = 500

interface WriterSeams {
  readonly kube: KubeApi
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly store: ResultStore
  readonly record: WriteRecorder
  readonly apiBackoff: ApiBackoff
  /** Judge by what is known at this moment, after a look whether this agent was suspended. */
  readonly judge: () => void
  /** Called when a followed Node has changed. */
  readonly onNode: () => void
}

/** Brings the cluster to what the zone decided, if it is this agent's turn. */
export interface Writer {
  /** Look at everybody; start what is due. */
  review(): void
  /** The looks at everybody so far. */
  readonly reviews: Reviews
  /** Vouching for the node ended. */
  vouchEnded(node: string, why: VouchEnd): void
  nextWrite(node: string): NextWrite | undefined
  /** Whether something is still to be written about the node, or its Lease is to be renewed. */
  isWanted(node: string): boolean
  /** The Node as it was read or written last, or as it is if it is followed; undefined when nobody looked. */
  nodeOf(node: string): NodeView | undefined
  /** Until when the marks of a node whose link comes and goes stay; −Infinity for no time. */
  heldUntil(node: string): number
  /** Whether the cluster keeps the agents' account to what agents write. */
  readonly confinement: Confinement
  /** How often the node's taint was put back, and when it is taken off next, in words. */
  taintBackoff(node: string): string | undefined
  /** This agent was suspended: give up what is under way, and forget whose turn it was. */
  resumed(): void
  stop(): Promise<void>
}

/** A level-triggered writer: it keeps no queue, so after an outage it writes what is true then, not what was. */
class LevelWriter implements Writer {
  readonly #options: AgentOptions
  readonly #seams: WriterSeams
  readonly #vouching: Vouching
  readonly #cleaning: Cleaning
  readonly #events: EventRecorder
  readonly #stopping = new AbortController()
  readonly #authority: WriteAuthority
  readonly #schedule: WriteSchedule
  readonly #backoff: RequestBackoff
  readonly #flaps = new LinkFlaps()
  readonly #work: NodeWork
  readonly #confinement: ConfinementCheck
  readonly #known: KnownNodes
  #cancelTimer: () => void = () => undefined
  #reviews: Reviews = { count: 0, lastAt: NaN, said: '' }

  constructor(options: AgentOptions, seams: WriterSeams) {
    this.#options = options
    this.#seams = seams
    const { signal } = this.#stopping
    // Events about several nodes are sent in parallel, and those are bounded by the zone's size.
    setMaxListeners(0, signal)
    const onEnd = (): void => this.review()
    const isHeld = (name: string): boolean | undefined => this.#vouching.leases.isHeld(name)
    const authority = new WriteAuthority(options, { ...seams, signal, isHeld })
    const schedule = new WriteSchedule(options)
    const backoff = new RequestBackoff(seams)
    const seen = (name: string): NodeView | undefined => this.#known.seen(name)
    const work = new NodeWork({ ...seams, backoff, onEnd, seen })
    this.#known = new KnownNodes(options, { ...seams, authority, work })
    this.#authority = authority
    this.#schedule = schedule
    this.#backoff = backoff
    this.#work = work
    this.#vouching = new Vouching(options, {
      ...seams,
      renewals: seams.store.renewals,
      authority,
      backoff,
      work,
      onEnd,
    })
    this.#cleaning = new Cleaning(options, {
      ...{ ...seams, authority, schedule, work },
      wall: () => this.#wall(),
      dueAt: (state, name) =>
        this.#dueAt(state, name, {
          ...{ desired: 'left', notBefore: -Infinity },
          now: seams.clock.now(),
        }),
    })
    this.#confinement = new ConfinementCheck(options.nodeName, seams)
    this.#events = makeEventRecorder(options.nodeName, { ...seams, signal, backoff })
  }

  get confinement(): Confinement {
    return this.#confinement.current
  }

  vouchEnded(node: string, why: VouchEnd): void {
    this.#events.vouchEnded(node, why)
    this.#vouching.leases.forget(node)
  }

  nextWrite(node: string): NextWrite | undefined {
    const state = this.#seams.store.zone.current
    return state && this.#schedule.next(node, () => this.#authority.turn(state, node)?.rank)
  }

  isWanted(node: string): boolean {
    return this.#schedule.since(node) < Infinity || this.#authority.isVouchedNow(node)
  }

  nodeOf(node: string): NodeView | undefined {
    return this.#work.nodeOf(node)
  }

  heldUntil(node: string): number {
    return this.#flaps.heldUntil(node)
  }

  taintBackoff(node: string): string | undefined {
    const state = this.#seams.store.zone.current
    if (state === undefined) return undefined
    return this.#vouching.taints.backoff(node, wordingOf(state, this.#seams.clock.now()))
  }

  get reviews(): Reviews {
    return this.#reviews
  }

  review(): void {
    this.#cancelTimer()
    const said = this.#review()
    const count = this.#reviews.count + 1
    this.#reviews = { count, said, lastAt: this.#seams.clock.wall() }
  }

  /** @returns in words what there is to write */
  #review(): string {
    if (this.#stopping.signal.aborted) return 'nothing is written: stopping'
    const { store, clock } = this.#seams
    if (store.zone.current !== undefined) this.#noteRoster(store.zone.current)
    const isReached =
      store.ownNode.current.cloudLink.state === 'up' && !this.#seams.apiBackoff.isFailing
    if (isReached && store.nodeList.current.isRegistered) this.#confinement.review()
    const permission = this.#authority.permission
    if (permission.kind === 'denied') {
      if (store.zone.current !== undefined) this.#known.noteOnly(store.zone.current)
      // When it may write again, only what is true by then matters.
      this.#schedule.clear()
      if (store.ownNode.current.cloudLink.state !== 'up') {
        this.#backoff.linkLost()
        this.#vouching.leases.linkLost()
      }
      return `nothing is written: ${permission.why}`
    }
    const { state } = permission
    let nextAt = Infinity
    this.#known.begin(state)
    const now = clock.now()
    for (let index = 0; index < state.table.size; index++)
      nextAt = Math.min(nextAt, this.#reviewMember(state, index, now))
    nextAt = Math.min(nextAt, this.#known.end(state), this.#cleaning.review(state))
    if (nextAt < Infinity)
      this.#cancelTimer = clock.after(Math.max(1, nextAt - clock.now()), () => this.review())
    return this.#schedule.size === 0
      ? 'all is written'
      : `${this.#schedule.size} nodes to be written`
  }

  resumed(): void {
    this.#work.giveUp()
    this.#schedule.clear()
    this.#vouching.leases.forgetAll()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#cancelTimer()
    await this.#confinement.stop()
    await this.#known.stop()
    await this.#work.stop()
    await this.#vouching.settled()
  }

  /** What is written as the present time: the apiserver's if it says it, since the own clock may be wrong. */
  #wall(): number {
    const { kube, clock } = this.#seams
    return kube.serverTime() ?? clock.wall()
  }

  /** Forget what is remembered of nodes that left. */
  #noteRoster({ roster }: ZoneState): void {
    if (!this.#cleaning.note(roster)) return
    const isMember = (name: string): boolean => roster.indexOf(name) !== undefined
    this.#schedule.keepOnly(isMember)
    this.#backoff.keepOnly(isMember)
    this.#flaps.keepOnly(isMember)
    this.#work.keepOnly(isMember)
    this.#known.keepOnly(isMember)
    this.#vouching.taints.keepOnly(isMember)
    this.#vouching.leases.keepOnly(isMember)
    this.#events.keepOnly(name => isMember(name) || this.#cleaning.has(name))
  }

  /** Start what is due about one member; returns when to look again. */
  #reviewMember(state: ZoneState, index: number, now: number): number {
    const { name } = state.roster.members[index]!
    const desired = this.#authority.desired(state, index)
    const node = this.#known.nodeOf(name, desired)
    const isVouchedFor =
      isVouched(state.vouching, index) && desiredMarksFor(state, index) === 'vouched'
    const youngUntil = desired === 'vouched' ? this.#authority.youngUntil(state, index) : -Infinity
    const isYoung = now < youngUntil
    const leaseAt = isVouchedFor ? this.#vouching.review(state, name, node) : Infinity
    const noticedAt = isVouchedFor ? this.#authority.noticedAt(state, index) : -Infinity
    const vouchAt = now < noticedAt ? Math.min(leaseAt, noticedAt) : leaseAt
    const heldUntil = this.#noteLink(state, index, { link: desired, now })
    this.#known.follow(state, index, { desired, node })
    if (this.#work.running.has(name)) return vouchAt
    if (!this.#known.isDue(name, { desired, node, isYoung })) {
      this.#schedule.forget(name)
      return vouchAt
    }
    const notBefore = node === undefined || carriesCutMarks(node) ? heldUntil : -Infinity
    const dueAt = this.#dueAt(state, name, { desired, notBefore, now })
    if (dueAt > now) return Math.min(vouchAt, dueAt)
    this.#work.running.start(name, this.#bringMember(name, desired))
    return vouchAt
  }

  /** When to write about the node, or to look again whether it is our turn; not later than now if it is. */
  #dueAt(
    state: ZoneState,
    name: string,
    {
      desired,
      notBefore,
      now,
    }: { readonly desired: DesiredMarks; readonly notBefore: number; readonly now: number },
  ): number {
    const turn = this.#authority.turn(state, name)
    const turnAt = this.#schedule.dueAt(name, desired, { turn, now })
    if (turn === undefined) return Infinity
    if (!this.#isConfirmed(state, name, desired)) return now + CONFIRM_MS
    // While requests fail there is one at a time; its end starts the next look.
    if (this.#backoff.isFailing && this.#work.running.size > 0) return Infinity
    const dueAt = Math.max(turnAt, notBefore, this.#backoff.readyAt(name))
    // Somebody before us may fall silent at any time.
    return turnAt > now ? Math.min(dueAt, now + this.#options.writerStaggerMs / 2) : dueAt
  }

  /** Every agent counts the cuts of a link alike, whoever writes. @returns until when the marks of a whole one stay. */
  #noteLink(
    state: ZoneState,
    index: number,
    // A Lease that its kubelet renews shows a link that is whole just now, whatever the node says of it.
    { link, now }: { readonly link: DesiredMarks; readonly now: number },
  ): number {
    const { name } = state.roster.members[index]!
    if (link === 'vouched') {
      if (now >= this.#authority.noticedAt(state, index)) this.#flaps.cut(name, now)
      else this.#flaps.cutBriefly(name)
    }
    return link === 'healthy' ? this.#flaps.restored(name, now) : -Infinity
  }

  /**
   * Marks that we would take off may have been put on by a majority that we have just lost: it must have spoken since
   * we saw the difference. A condemnation waited for the same before it became final.
   */
  #isConfirmed({ judgement, table }: ZoneState, name: string, desired: DesiredMarks): boolean {
    if (desired === 'dead' || desired === 'kubelet-sick') return true
    return majoritySpokeAt(judgement, table) > this.#schedule.since(name)
  }

  /**
   * Write what is true at the moment of each write, not what was true when the turn came. Where something else is
   * wanted by then, that has a turn of its own.
   */
  async #bringMember(name: string, what: DesiredMarks): Promise<void> {
    const { store, clock } = this.#seams
    let event: EventWords | undefined
    const plan: Task['plan'] = node => {
      if (what === 'keep') return NOTHING
      const state = store.zone.current!
      const index = state.roster.indexOf(name)!
      const at = { now: clock.now(), wall: this.#wall(), options: this.#options }
      const { explanation, words } = wordsFor(state, index, what, at)
      if (what === 'vouched' && at.now < this.#authority.youngUntil(state, index))
        return planYoungVouch(node, words, this.#options)
      event = eventFor(what, explanation, wordingOf(state, at.now))
      return planMarks(node, what, words, this.#options)
    }
    const isWanted = (): boolean => what !== 'keep' && this.#authority.desiredNow(name) === what
    const end = await this.#work.carryOut({ node: name, what, plan, isWanted })
    const { before, node, written } = end
    if (written === 0 || event === undefined || node === undefined || before === undefined) return
    await this.#events.send(node, event)
    await this.#events.sendVouchEnd(node, before, what)
  }
}

export const makeWriter = (options: AgentOptions, seams: WriterSeams): Writer =>
  new LevelWriter(options, seams)
