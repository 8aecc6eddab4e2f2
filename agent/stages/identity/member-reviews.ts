// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import { IDENTITY_ANNOTATION } from '../../identity/annotation.js'
import { decidePin, type Holder, type PinDecision } from '../../identity/pins.js'
import { keepOnly } from '../../keep-only.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi, NodeNotes } from '../../ports/kube-api.js'
import type { ResultStore } from '../../store.js'
import type { MemberPins } from './member-pins.js'
import { readPublished } from './own-keys.js'
import { AGAIN_MS, FIRST_WANTED_MS, REVIEW_MS, reviewMs, WANTED_MS, wantedAt } from './pace.js'

interface MemberReviewsSeams {
  readonly kube: Pick<KubeApi, 'getNodeNotes'>
  readonly store: ResultStore
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly pins: MemberPins
  /** Undefined when the request failed. */
  readonly ask: (
    what: NodeName,
    request: (signal: AbortSignal) => Promise<NodeNotes>,
  ) => Promise<NodeNotes | undefined>
  readonly onPins: () => void
}

/** Reads the members' Nodes, each when it is due, and decides which keys count as a member's. */
export class MemberReviews {
  readonly #options: AgentOptions
  readonly #seams: MemberReviewsSeams
  readonly #dueAt = new Map<NodeName, number>()
  readonly #readAt = new Map<NodeName, number>()
  /** Since when a member's Node has keys that the pinned ones did not sign; its agent is being asked for its keys. */
  readonly #doubtedAt = new Map<NodeName, number>()
  /** Reads of each Node in a row that brought no new keys. */
  readonly #emptyReads = new Map<NodeName, number>()
  #startedAt = 0

  constructor(options: AgentOptions, seams: MemberReviewsSeams) {
    this.#options = options
    this.#seams = seams
  }

  /** When the next Node is due; Infinity for none. */
  get nextAt(): number {
    return Math.min(...this.#dueAt.values())
  }

  start(): void {
    this.#startedAt = this.#seams.clock.now()
  }

  /** These are the other members. */
  follow(names: ReadonlySet<NodeName>): void {
    for (const known of [this.#dueAt, this.#readAt, this.#doubtedAt, this.#emptyReads])
      keepOnly(known, name => names.has(name))
    for (const name of names) if (!this.#dueAt.has(name)) this.#dueAt.set(name, this.#firstAt(name))
  }

  /** A message suggests that the member has other keys than its pinned ones. @returns whether its Node is due sooner now */
  want(name: NodeName): boolean {
    if (this.#doubtedAt.has(name)) return false
    const due = this.#dueAt.get(name)
    const soon = wantedAt(
      this.#seams.clock.now(),
      this.#readAt.get(name),
      this.#emptyReads.get(name),
    )
    if (due === undefined || due <= soon) return false
    this.#dueAt.set(name, soon)
    return true
  }

  /** Every agent publishes its keys before it reads others', so of any two agents at least one finds the other's keys. */
  readUnknown(): void {
    const { clock, pins } = this.#seams
    for (const name of this.#dueAt.keys()) if (!pins.has(name)) this.#dueAt.set(name, clock.now())
  }

  /** The members whose Nodes are due. May be used while they are reviewed. */
  *due(now: number): Iterable<NodeName> {
    for (const [name, at] of this.#dueAt) if (at <= now) yield name
  }

  async review(name: NodeName): Promise<void> {
    const { kube, clock } = this.#seams
    this.#dueAt.set(name, clock.now() + AGAIN_MS)
    const found = await this.#seams.ask(name, signal => kube.getNodeNotes(name, signal))
    if (found === undefined || !this.#dueAt.has(name)) return
    this.#readAt.set(name, clock.now())
    const decision = this.#decide(name, found)
    this.#emptyReads.set(
      name,
      decision.kind === 'take' ? 0 : (this.#emptyReads.get(name) ?? -1) + 1,
    )
    if (decision.kind === 'ask') this.#doubt(name)
    else this.#doubtedAt.delete(name)
    this.#dueAt.set(name, clock.now() + this.#nextMs(name, decision))
    this.#report(name, decision)
    this.#carryOut(name, decision)
  }

  /** When to read a new member's Node: one whose keys are known from disk can wait. */
  #firstAt(name: NodeName): number {
    const { clock, random, pins } = this.#seams
    return pins.has(name) ? clock.now() + random.below(REVIEW_MS) : clock.now()
  }

  #decide(node: NodeName, { uid, annotations }: NodeNotes): PinDecision {
    const { clusterId, identity, identityChangeAfterMs: changeAfterMs } = this.#options
    return decidePin(
      this.#seams.pins.get(node),
      {
        subject: { clusterId, node, uid },
        published: readPublished(annotations[IDENTITY_ANNOTATION]),
        silentMs: this.#silentMs(node),
        holder: this.#holder(node),
      },
      { identity: identity === 'require' ? 'require' : 'prefer', changeAfterMs },
    )
  }

  #report(member: NodeName, decision: PinDecision): void {
    const { log } = this.#seams
    if (decision.kind === 'refuse') log.warn('identity refused: not made by its keys', { member })
    if (decision.kind === 'wait')
      log.warn('identity changed without its old key', { member, ms: decision.ms })
    if (decision.kind === 'dispute')
      log.warn('identity changed, but its old key answers', { member })
  }

  /** Time until its Node is read again, unless a message suggests new keys before. */
  #nextMs(name: NodeName, decision: PinDecision): number {
    const { random, clock } = this.#seams
    const { exchangeTimeoutMs, identityChangeAfterMs } = this.#options
    if (decision.kind === 'wait') return Math.max(FIRST_WANTED_MS, decision.ms)
    if (decision.kind === 'dispute') return identityChangeAfterMs
    if (decision.kind !== 'ask') return reviewMs(random)
    // Soon at first: the request to its agent may have been lost.
    return clock.now() - this.#doubtedAt.get(name)! < WANTED_MS ? exchangeTimeoutMs : WANTED_MS
  }

  /** Its Node has keys that the pinned ones did not sign: ask the agent at its address which keys it has. */
  #doubt(name: NodeName): void {
    const { clock, store } = this.#seams
    if (!this.#doubtedAt.has(name)) this.#doubtedAt.set(name, clock.now())
    store.whoHasKeys.emit(name)
  }

  #holder(name: NodeName): Holder {
    const since = this.#doubtedAt.get(name)
    const records = this.#seams.store.records.current
    const index = records?.roster.indexOf(name)
    return since === undefined || index === undefined ? 'unasked' : records!.holderAt(index, since)
  }

  #carryOut(name: NodeName, decision: PinDecision): void {
    const { pins, log, store, onPins } = this.#seams
    const isOther = pins.has(name)
    if (decision.kind === 'take') pins.set(decision.pin)
    else if (decision.kind !== 'none' || !pins.delete(name)) return
    log.info('identity', { member: name, generation: pins.get(name)?.generation ?? null })
    onPins()
    // Its messages were refused until now, so it backs off before it sends again: ask it instead.
    if (isOther) store.whoHasKeys.emit(name)
  }

  /** Age of the member's newest valid record in milliseconds; at most the time since this agent started. */
  #silentMs(name: NodeName): number {
    const { store, clock } = this.#seams
    const table = store.records.current?.table
    const index = table?.roster.indexOf(name)
    const heardAt = index === undefined ? -Infinity : table!.producedAt[index]!
    return clock.now() - Math.max(heardAt, this.#startedAt)
  }
}
