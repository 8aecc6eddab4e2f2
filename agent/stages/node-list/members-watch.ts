// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError, reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import { jitter } from '../../../core/random.js'
import { ListPoint } from '../../../kube/client/list-point.js'
import type { Watching, WatchSink } from '../../../kube/client/watching.js'
import { askPatiently } from '../../ask-patiently.js'
import { hostnames, isSelectable } from '../../node-selector.js'
import type { MemberList, MemberView } from '../../ports/kube-api.js'
import type { WatchSeams } from './own-node.js'

/** Which Nodes, and how closely they are followed. */
export interface MembersPlan {
  readonly selector: string
  /** A selector that also finds nodes of other zones; undefined: there is none. */
  readonly wider: string | undefined
  /** Up to this many Nodes are watched; with more, only joins are watched and the rest is polled. */
  readonly watchUpTo: number
  readonly pollMs: number
}

/** Watch again only when the count is this share of the limit, so that a zone at the limit does not go back and forth. */
const FEWER = 0.8
/** Some proxies refuse longer selectors. */
const MOST_SELECTOR_CHARACTERS = 30_000
const RETRY_MS = 30_000
/** Nodes of other zones are only shown: while the members are watched, they are listed this many times less often. */
const RARELY = 12
/** Members in doubt are read within this time, by each agent at a random moment. */
const LOOK_WITHIN_MS = 3_000
/** For more doubts than this everybody is listed at once; that costs the server more, so it may take this long. */
const MOST_LOOKS = 8
const LIST_WITHIN_MS = 30_000

type Members = ReadonlyMap<string, MemberView>

const byName = (list: readonly MemberView[]): Map<string, MemberView> =>
  new Map(list.map(member => [member.name, member]))

/** Nodes that match a selector: watched while they are few, polled when each kubelet's report would cost too much. */
export class MembersWatch {
  readonly #plan: MembersPlan
  readonly #seams: WatchSeams & { readonly log: Logger }
  readonly #stopping = new AbortController()
  /** Watches and reads that are ending. */
  readonly #ending = new Set<Promise<void>>()
  /** Another map after each change. */
  #members: Members | undefined
  #elsewhere: readonly string[] = []
  #watching: Watching
  #isPolled = false
  #polls = 0
  #isListing = false
  /** A failure is logged once until lists work again. */
  #hasComplained = false
  /** A list was asked for while another one was under way. */
  #mustListAgain = false
  /** Members that came, moved or went while a list was under way, which may be older than that. */
  readonly #learnt = new Map<string, MemberView | undefined>()
  #cancelPoll: () => void = () => undefined
  readonly #lists: ListPoint
  readonly #doubted = new Set<string>()
  #cancelLook: (() => void) | undefined

  constructor(plan: MembersPlan, seams: WatchSeams & { readonly log: Logger }) {
    this.#plan = plan
    this.#seams = seams
    this.#lists = new ListPoint(seams.known)
    this.#watching = this.#watchAll()
    if (plan.wider !== undefined) this.#poll()
  }

  /** Undefined before the first list; the same map until a member comes, goes or moves. */
  get members(): Members | undefined {
    return this.#members
  }

  /** Names of those that are in other zones too, and so no members. */
  get elsewhere(): readonly string[] {
    return this.#elsewhere
  }

  get lists(): number {
    return this.#polls + this.#watching.status.lists
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#cancelPoll()
    this.#cancelLook?.()
    await Promise.all([...this.#ending, this.#watching.stop()])
  }

  /** Nobody reaches this member any more: its Node may be gone or have another address, which a poll shows late. */
  doubt(name: string): void {
    if (!this.#isPolled || this.#members?.has(name) !== true) return
    this.#doubted.add(name)
    this.#lookWithin(LOOK_WITHIN_MS)
  }

  #watchAll(): Watching {
    return this.#watch(this.#plan.selector, {
      replace: list => {
        this.#members = byName(list)
        if (list.length > this.#plan.watchUpTo) this.#startPolling()
        this.#seams.onChange()
      },
      ...this.#following(),
    })
  }

  #following(): Pick<WatchSink<MemberView>, 'upsert' | 'remove'> {
    return {
      upsert: member => {
        if (this.#isListing) this.#learnt.set(member.name, member)
        const members = this.#members
        const before = members?.get(member.name)
        if (before !== undefined && before.address === member.address) return
        this.#members = members && new Map(members).set(member.name, member)
        this.#seams.onChange()
      },
      remove: name => {
        if (this.#isListing) this.#learnt.set(name, undefined)
        if (this.#members?.has(name) !== true) return
        const members = new Map(this.#members)
        members.delete(name)
        this.#members = members
        this.#seams.onChange()
        if (this.#plan.wider !== undefined) this.#poll()
      },
    }
  }

  #watch(selector: string, sink: WatchSink<MemberView>): Watching {
    const { kube, known } = this.#seams
    return kube.watchMembers({ selector, known }, sink)
  }

  #startPolling(): void {
    this.#isPolled = true
    this.#watchJoins()
    this.#pollLater(this.#plan.pollMs)
  }

  /**
   * The selector leaves out all known members, so that only new ones are reported. One that it cannot name costs an event each
   * time its kubelet reports.
   */
  #watchJoins(): void {
    const { selector } = this.#plan
    const names = [...this.#members!.keys()].filter(isSelectable).sort()
    const joins = `${selector},${hostnames('notin', names)}`
    this.#letEnd(this.#watching.stop())
    if (joins.length > MOST_SELECTOR_CHARACTERS) return
    const following = this.#following()
    const replace = (list: readonly MemberView[]): void => list.forEach(following.upsert)
    this.#watching = this.#watch(joins, { ...following, replace })
  }

  #letEnd(work: Promise<void>): void {
    const done = work.finally(() => this.#ending.delete(done))
    this.#ending.add(done)
  }

  #pollLater(ms: number): void {
    const { clock, random } = this.#seams
    this.#cancelPoll()
    this.#cancelPoll = clock.after(jitter(random, ms, 0.1), () => this.#poll())
  }

  #lookWithin(ms: number): void {
    const { clock, random } = this.#seams
    this.#cancelLook ??= clock.after(random.below(ms), () => {
      this.#cancelLook = undefined
      if (this.#doubted.size <= MOST_LOOKS) this.#letEnd(this.#look([...this.#doubted]))
      else this.#pollLater(random.below(LIST_WITHIN_MS))
      this.#doubted.clear()
    })
  }

  async #look(names: readonly string[]): Promise<void> {
    const { kube, log } = this.#seams
    const { signal } = this.#stopping
    const { upsert, remove } = this.#following()
    const looks = names.map(async name => {
      try {
        const { members, version } = await askPatiently(this.#seams, signal, of =>
          kube.getMember(this.#plan.selector, name, of),
        )
        this.#lists.reached(version)
        if (signal.aborted || this.#members?.has(name) !== true) return
        const [member] = members
        if (member !== undefined) upsert(member)
        else {
          remove(name)
          // If it comes back, it has to be seen as a join.
          if (this.#isPolled) this.#watchJoins()
        }
      } catch (error) {
        if (signal.aborted) return
        log.debug('member not looked at', { member: name, error: reasonOf(error) })
        this.#doubted.add(name)
        this.#lookWithin(RETRY_MS)
      }
    })
    await Promise.all(looks)
  }

  #poll(): void {
    this.#cancelPoll()
    if (this.#isListing) {
      this.#mustListAgain = true
      return
    }
    this.#isListing = true
    this.#letEnd(
      this.#pollNow().finally(() => {
        this.#isListing = false
        this.#learnt.clear()
        if (!this.#mustListAgain || this.#stopping.signal.aborted) return
        this.#mustListAgain = false
        this.#pollLater(this.#seams.random.below(LIST_WITHIN_MS))
      }),
    )
  }

  async #pollNow(): Promise<void> {
    const { log } = this.#seams
    const { wider, pollMs } = this.#plan
    const { signal } = this.#stopping
    try {
      await this.#pollMembers()
      const all = wider === undefined ? undefined : await this.#list(wider, signal)
      if (signal.aborted) return
      this.#polls++
      this.#hasComplained = false
      const members = this.#members
      this.#elsewhere =
        members === undefined || all === undefined
          ? []
          : all.members.map(({ name }) => name).filter(name => !members.has(name))
      this.#seams.onChange()
      this.#pollLater(this.#isPolled ? pollMs : RARELY * pollMs)
    } catch (error) {
      if (signal.aborted) return
      log[this.#hasComplained ? 'debug' : 'warn']('listing the zone’s Nodes failed, will retry', {
        error: reasonOf(error),
      })
      this.#hasComplained = true
      this.#mustListAgain = false
      if (error instanceof KubeStatusError) this.#lists.refused(error.status)
      this.#pollLater(RETRY_MS)
    }
  }

  /** The members count even if the wider list, which is only displayed, fails. */
  async #pollMembers(): Promise<void> {
    const { signal } = this.#stopping
    if (!this.#isPolled) return
    const list = await this.#list(this.#plan.selector, signal)
    signal.throwIfAborted()
    this.#take(list)
    this.#seams.onChange()
  }

  async #list(selector: string, signal: AbortSignal): Promise<MemberList> {
    const { kube } = this.#seams
    const list = await askPatiently(this.#seams, signal, of =>
      kube.listMembers(selector, this.#lists.begin(), of),
    )
    this.#lists.listed(list.version)
    return list
  }

  #take({ members: list }: MemberList): void {
    const before = this.#members
    const members = byName(list)
    for (const [name, member] of this.#learnt) {
      if (member === undefined) members.delete(name)
      else members.set(name, member)
    }
    this.#members = members
    if (members.size <= this.#plan.watchUpTo * FEWER) {
      this.#isPolled = false
      this.#letEnd(this.#watching.stop())
      this.#watching = this.#watchAll()
      return
    }
    const isSame =
      members.size === before?.size && [...members.keys()].every(name => before.has(name))
    if (!isSame) this.#watchJoins()
    // The watch was refused every time, perhaps for the length of its selector: end it, since polls find joins, too.
    else if (this.#watching.status.lists === 0) this.#letEnd(this.#watching.stop())
  }
}
