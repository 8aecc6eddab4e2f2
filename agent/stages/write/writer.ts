// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import type { NodeView } from '../../../core/node.js'
import type { Random } from '../../../core/random.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { VouchEnd } from '../../../vote/vouch.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { Cleaning } from './cleaning.js'
import { DueTimes } from './due-times.js'
import { ConfinementCheck, type Confinement } from './confinement.js'
import { makeEventRecorder, type EventRecorder } from './event-recorder.js'
import { KnownNodes } from './known-nodes.js'
import { LinkFlaps } from './link-flaps.js'
import { WriteAuthority } from './write-authority.js'
import { MemberReview } from './member-review.js'
import { MemberWrites } from './member-writes.js'
import { NodeWork } from './node-work.js'
import type { WriteRecorder } from './node-writer.js'
import { RequestBackoff } from './request-backoff.js'
import { WriteSchedule, type NextWrite } from './write-schedule.js'
import type { Reviews } from './stage-status.js'
import { Vouching } from './vouching.js'
import { wordingOf } from './desired-marks.js'

interface WriterSeams {
  readonly kube: KubeApi
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly store: ResultStore
  readonly record: WriteRecorder
  readonly apiBackoff: ApiBackoff
  /** Judge by what is known at this moment, after a check whether this agent was suspended. */
  readonly judge: () => void
  /** Called when a followed Node has changed. */
  readonly onNode: () => void
}

/** Brings the cluster to what the zone decided, if it is this agent's turn. */
export interface Writer {
  /** Compare all members with what is decided about them, and start the writes that are due. */
  review(): void
  /** The last review found nothing to write, and no Node is left that should be read soon. */
  readonly isIdle: boolean
  /** The reviews so far. */
  readonly reviews: Reviews
  /** Vouching for the node ended. */
  vouchEnded(node: string, why: VouchEnd): void
  nextWrite(node: string): NextWrite | undefined
  /** Whether something is still to be written about the node, or its Lease is to be renewed. */
  isWanted(node: string): boolean
  /** The Node as it was last read or written, or as it is now if it is watched; undefined when it was never read. */
  nodeOf(node: string): NodeView | undefined
  /** Until when the marks of a node with a flapping cloud link stay; −Infinity when it is not flapping. */
  heldUntil(node: string): number
  /** Whether the cluster keeps the agents' account to what agents write. */
  readonly confinement: Confinement
  /** In words: how often the node's taint was set again by others, and when it is removed next. */
  taintBackoff(node: string): string | undefined
  /** This agent was suspended: abort the writes under way, and forget when others were due. */
  resumed(): void
  stop(): Promise<void>
}

/** A level-triggered writer: it keeps no queue, so after an outage it writes what is true then, not what was before. */
class LevelWriter implements Writer {
  readonly #seams: WriterSeams
  readonly #vouching: Vouching
  readonly #cleaning: Cleaning
  readonly #events: EventRecorder
  readonly #members: MemberReview
  readonly #stopping = new AbortController()
  readonly #authority: WriteAuthority
  readonly #schedule: WriteSchedule
  readonly #backoff: RequestBackoff
  readonly #flaps = new LinkFlaps()
  readonly #work: NodeWork
  readonly #confinement: ConfinementCheck
  readonly #known: KnownNodes
  #cancelTimer: () => void = () => undefined
  #isIdle = false
  #reviews: Reviews = { count: 0, lastAt: NaN, said: '' }

  constructor(options: AgentOptions, seams: WriterSeams) {
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
    const dueTimes = new DueTimes(options, { authority, schedule, backoff, work })
    const known = new KnownNodes(options, { ...seams, authority, work })
    this.#known = known
    this.#authority = authority
    this.#schedule = schedule
    this.#backoff = backoff
    this.#work = work
    const vouching = new Vouching(options, {
      ...seams,
      renewals: seams.store.renewals,
      authority,
      backoff,
      work,
      onEnd,
    })
    this.#vouching = vouching
    this.#cleaning = new Cleaning(options, {
      ...{ ...seams, authority, schedule, work },
      wall: () => this.#wall(),
      dueAt: (state, name) =>
        dueTimes.dueAt(state, name, {
          ...{ desired: 'left', notBefore: -Infinity },
          now: seams.clock.now(),
        }),
    })
    this.#confinement = new ConfinementCheck(options.nodeName, seams)
    this.#events = makeEventRecorder(options.nodeName, { ...seams, signal, backoff })
    const writes = new MemberWrites(options, {
      ...{ ...seams, authority, work, events: this.#events },
      wall: () => this.#wall(),
    })
    this.#members = new MemberReview({
      ...{ authority, known, vouching, flaps: this.#flaps, schedule, dueTimes, work, writes },
    })
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

  get isIdle(): boolean {
    return this.#isIdle
  }

  review(): void {
    this.#cancelTimer()
    const said = this.#review()
    const count = this.#reviews.count + 1
    this.#reviews = { count, said, lastAt: this.#seams.clock.wall() }
  }

  /** @returns what there is to write, in words */
  #review(): string {
    this.#isIdle = false
    if (this.#stopping.signal.aborted) return 'nothing is written: stopping'
    const { store, clock } = this.#seams
    if (store.zone.current !== undefined) this.#noteRoster(store.zone.current)
    const checkAt = this.#checkAt()
    const permission = this.#authority.permission
    if (permission.kind === 'denied') {
      if (store.zone.current !== undefined) this.#known.noteOnly(store.zone.current)
      // Once this agent may write again, what is due is found anew.
      this.#schedule.clear()
      if (store.ownNode.current.cloudLink.state !== 'up') {
        this.#backoff.linkLost()
        this.#vouching.leases.linkLost()
      }
      this.#reviewAt(checkAt)
      return `nothing is written: ${permission.why}`
    }
    const { state } = permission
    let nextAt = checkAt
    this.#known.begin(state)
    const now = clock.now()
    for (let index = 0; index < state.table.size; index++)
      nextAt = Math.min(nextAt, this.#members.review(state, index, now))
    nextAt = Math.min(nextAt, this.#known.end(state), this.#cleaning.review(state))
    this.#reviewAt(nextAt)
    return this.#endReview()
  }

  /** @returns when the confinement is to be checked, if that may be asked for */
  #checkAt(): number {
    const { store, apiBackoff } = this.#seams
    const isReached = store.ownNode.current.cloudLink.state === 'up' && !apiBackoff.isFailing
    return isReached && store.nodeList.current.isRegistered ? this.#confinement.review() : Infinity
  }

  #reviewAt(at: number): void {
    const { clock } = this.#seams
    if (at < Infinity)
      this.#cancelTimer = clock.after(Math.max(1, at - clock.now()), () => this.review())
  }

  /** A whole review has ended. @returns what there is to write, in words */
  #endReview(): string {
    const { size } = this.#schedule
    this.#isIdle = size === 0 && this.#known.isCaughtUp
    return size === 0 ? 'all is written' : `${size} nodes to be written`
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

  /** The present time for annotations: the apiserver's where known, since this machine's clock may be wrong. */
  #wall(): number {
    const { kube, clock } = this.#seams
    return kube.serverTime() ?? clock.wall()
  }

  /** Drop everything about nodes that left the roster. */
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
}

export const makeWriter = (options: AgentOptions, seams: WriterSeams): Writer =>
  new LevelWriter(options, seams)
