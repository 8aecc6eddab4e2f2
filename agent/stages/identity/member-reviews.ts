// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { KubeStatusError, reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { ListPoint } from '../../../kube/client/list-point.js'
import { IDENTITY_ANNOTATION } from '../../identity/annotation.js'
import { decidePin, type Holder, type PinDecision } from '../../identity/pins.js'
import { keepOnly } from '../../keep-only.js'
import type { IdentityDoubt } from '../../results.js'
import { isSelectable } from '../../node-selector.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi, NodeNotes } from '../../ports/kube-api.js'
import type { ResultStore } from '../../store.js'
import type { MemberPins } from './member-pins.js'
import { isRefused, ListTrouble } from './list-trouble.js'
import { readPublished } from './own-keys.js'
import { againMs, FIRST_WANTED_MS, REVIEW_MS, reviewMs, WANTED_MS, wantedAt } from './pace.js'

interface MemberReviewsSeams {
  readonly kube: Pick<KubeApi, 'getNodeNotes' | 'listNodeNotes'>
  readonly store: ResultStore
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly pins: MemberPins
  /** What lists of Nodes must be as new as. */
  readonly lists: ListPoint
  /** Resolves to undefined when the request failed. */
  readonly ask: <T>(
    what: string,
    request: (signal: AbortSignal) => Promise<T>,
    onFailure?: (error: unknown) => void,
  ) => Promise<T | undefined>
  readonly onPins: () => void
  readonly onDoubts: () => void
}

/** Nodes in one list: enough metadata for an apiserver to compress (from 128 kB), and little enough to parse at once. */
const MOST_LISTED = 64

const portions = (names: readonly NodeName[], size: number): NodeName[][] =>
  Array.from({ length: Math.ceil(names.length / size) }, (_, i) =>
    names.slice(i * size, (i + 1) * size),
  )

type NotesByName = ReadonlyMap<string, NodeNotes>

/** Nodes that are read with one request. */
export interface Portion {
  readonly names: readonly NodeName[]
  /** Requests that it counts as. A Node read because of a message costs one, so that messages cannot cause many reads. */
  readonly cost: number
}

/**
 * Reads the members' Nodes, each when it is due, and decides which keys count as a member's. Several that are due are
 * listed together: compressed, that is a tenth of the bytes of single reads.
 */
export class MemberReviews {
  readonly #options: AgentOptions
  readonly #seams: MemberReviewsSeams
  readonly #dueAt = new Map<NodeName, number>()
  readonly #readAt = new Map<NodeName, number>()
  /** Since when a member's Node has keys that the pinned ones did not sign; its agent is being asked for its keys. */
  readonly #doubtedAt = new Map<NodeName, number>()
  readonly #doubts = new Map<NodeName, IdentityDoubt>()
  /** Reads of each Node in a row that brought no new keys. */
  readonly #emptyReads = new Map<NodeName, number>()
  /** Those that the last list, which selects by hostname, did not find. */
  readonly #unlisted = new Set<NodeName>()
  /** Those that messages suggest to read, until they are read. */
  readonly #wanted = new Set<NodeName>()
  /** Refused reads of each Node in a row. */
  readonly #refusals = new Map<NodeName, number>()
  readonly #listTrouble = new ListTrouble()
  /** When all are read as a routine, although nothing calls for it. */
  #reviewAt = Infinity
  #startedAt = 0

  constructor(options: AgentOptions, seams: MemberReviewsSeams) {
    this.#options = options
    this.#seams = seams
  }

  /** When the next Node is due; Infinity for none. */
  get nextAt(): number {
    return Math.min(this.#reviewAt, ...this.#dueAt.values())
  }

  /** A copy. */
  get doubts(): ReadonlyMap<NodeName, IdentityDoubt> {
    return new Map(this.#doubts)
  }

  start(): void {
    this.#startedAt = this.#seams.clock.now()
  }

  /** These are the other members. */
  follow(names: ReadonlySet<NodeName>): void {
    const { clock, random, pins } = this.#seams
    const known = [this.#dueAt, this.#readAt, this.#doubtedAt, this.#emptyReads, this.#refusals]
    for (const entries of [...known, this.#doubts, this.#unlisted, this.#wanted])
      keepOnly(entries, name => names.has(name))
    const now = clock.now()
    if (this.#reviewAt === Infinity) this.#reviewAt = now + random.below(REVIEW_MS)
    // One whose keys are known from disk can wait.
    for (const name of names)
      if (!this.#dueAt.has(name)) this.#dueAt.set(name, pins.has(name) ? Infinity : now)
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
    this.#wanted.add(name)
    return true
  }

  /** Every agent publishes its keys before it reads others', so of any two agents at least one finds the other's keys. */
  readUnknown(): void {
    const { clock, pins } = this.#seams
    for (const name of this.#dueAt.keys()) if (!pins.has(name)) this.#dueAt.set(name, clock.now())
  }

  /** The members whose Nodes are due, first those of which no message spoke. */
  due(now: number): readonly Portion[] {
    if (now >= this.#reviewAt) this.#beginReview(now)
    const [listed, wanted, single]: [NodeName[], NodeName[], NodeName[]] = [[], [], []]
    for (const [name, at] of this.#dueAt) {
      if (at > now) continue
      if (!this.#isListed(name)) single.push(name)
      else if (this.#wanted.has(name)) wanted.push(name)
      else listed.push(name)
    }
    const lists = [
      ...portions(listed, MOST_LISTED).map(names => ({ names, cost: 1 })),
      ...portions(wanted, MOST_LISTED).map(names => ({ names, cost: names.length })),
    ]
    const alone = portions(single, 1).map(names => ({ names, cost: 1 }))
    const [first] = lists
    if (!this.#listTrouble.isInDoubt || first === undefined) return [...lists, ...alone]
    return [{ names: first.names.slice(0, 1), cost: 1 }, ...alone]
  }

  /** Read these Nodes with one request. @returns whether it was sent: all may have left the zone meanwhile */
  async review(all: readonly NodeName[]): Promise<boolean> {
    const { clock, pins, store, onPins } = this.#seams
    const names = all.filter(name => this.#dueAt.has(name))
    if (names.length === 0) return false
    const now = clock.now()
    const againAt = new Map(names.map(name => [name, now + this.#failedMs(name)] as const))
    for (const [name, at] of againAt) {
      this.#dueAt.set(name, at)
      this.#wanted.delete(name)
    }
    const nodes = names.length === 1 ? await this.#read(names[0]!) : await this.#list(names)
    const known = names.filter(name => pins.has(name))
    const changed = names.filter(name => {
      const [found, dueAt] = [nodes.get(name), this.#dueAt.get(name)]
      // It may have left the zone meanwhile.
      if (found === undefined || dueAt === undefined) return false
      // Read again after a message that came since the request left, and for a member that left and came back.
      const soonAt = dueAt < againAt.get(name)! ? dueAt : Infinity
      return this.#take(name, found, soonAt)
    })
    if (changed.length > 0) onPins()
    // Their messages were refused until now, so they back off before they send again: ask them instead.
    for (const name of changed) if (known.includes(name)) store.whoHasKeys.emit(name)
    return true
  }

  /** All are due, and lists are worth a try again. */
  #beginReview(now: number): void {
    this.#reviewAt = now + reviewMs(this.#seams.random)
    this.#unlisted.clear()
    this.#listTrouble.clear()
    for (const [name, at] of this.#dueAt) this.#dueAt.set(name, Math.min(at, now))
  }

  #isListed(name: NodeName): boolean {
    return !this.#listTrouble.isLasting && isSelectable(name) && !this.#unlisted.has(name)
  }

  async #read(name: NodeName): Promise<NotesByName> {
    const { kube, clock, ask, lists } = this.#seams
    const found = await ask(
      name,
      signal => kube.getNodeNotes(name, signal),
      error => {
        this.#listTrouble.readAlone(isRefused(error))
        if (!isRefused(error) || !this.#dueAt.has(name)) return
        const refusals = (this.#refusals.get(name) ?? 0) + 1
        this.#refusals.set(name, refusals)
        this.#dueAt.set(name, clock.now() + againMs(refusals))
      },
    )
    if (found === undefined) return new Map()
    this.#listTrouble.readAlone(true)
    this.#refusals.delete(name)
    lists.reached(found.resourceVersion)
    return new Map([[name, found]])
  }

  async #list(names: readonly NodeName[]): Promise<NotesByName> {
    const { kube, ask, lists } = this.#seams
    const list = await ask(
      `${names.length} members`,
      signal => kube.listNodeNotes(names, lists.begin(), signal),
      error => this.#listFailed(error),
    )
    if (list === undefined) return new Map()
    this.#listTrouble.clear()
    if (lists.listed(list.version)) {
      // The store was replaced, or a cache between us and the server keeps old lists: trust only what etcd says.
      lists.restored()
      this.#readSoon(names)
      return new Map()
    }
    const nodes = new Map(list.nodes.map(node => [node.name, node]))
    const missing = names.filter(name => this.#dueAt.has(name) && !nodes.has(name))
    for (const name of missing) this.#unlisted.add(name)
    this.#readSoon(missing)
    return nodes
  }

  #listFailed(error: unknown): void {
    if (error instanceof KubeStatusError) this.#seams.lists.refused(error.status)
    this.#listTrouble.listFailed(error)
    if (!this.#listTrouble.isLasting) return
    this.#seams.log.warn('lists of Nodes fail: members are read one by one for some hours', {
      error: reasonOf(error),
    })
  }

  #readSoon(names: readonly NodeName[]): void {
    const now = this.#seams.clock.now()
    for (const name of names) if (this.#dueAt.has(name)) this.#dueAt.set(name, now)
  }

  /**
   * @param soonAt when to read it again in any case
   * @returns whether other keys count now
   */
  #take(name: NodeName, found: NodeNotes, soonAt: number): boolean {
    const now = this.#seams.clock.now()
    this.#readAt.set(name, now)
    const decision = this.#decide(name, found)
    this.#emptyReads.set(
      name,
      decision.kind === 'take' ? 0 : (this.#emptyReads.get(name) ?? -1) + 1,
    )
    if (decision.kind === 'ask') this.#doubt(name)
    else this.#doubtedAt.delete(name)
    this.#dueAt.set(name, Math.min(soonAt, now + this.#nextMs(name, decision)))
    this.#report(name, decision)
    this.#noteDoubt(name, decision)
    return this.#carryOut(name, decision)
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

  /** Called before `#noteDoubt`. What was logged already is logged again only at debug level. */
  #report(member: NodeName, decision: PinDecision): void {
    const isSaid = this.#doubts.get(member)?.kind === decision.kind
    const say = (text: string, fields: Readonly<Record<string, number>> = {}): void =>
      this.#seams.log[isSaid ? 'debug' : 'warn'](text, { member, ...fields })
    if (decision.kind === 'refuse') say('identity refused: not signed by its own keys')
    if (decision.kind === 'wait')
      say('identity changed without its old key', { ms: Math.ceil(decision.ms) })
    if (decision.kind === 'dispute') say('identity changed, but its old key answers')
  }

  #noteDoubt(name: NodeName, { kind }: PinDecision): void {
    const before = this.#doubts.get(name)?.kind
    if (kind === 'keep' || kind === 'take' || kind === 'none') this.#doubts.delete(name)
    else this.#doubts.set(name, { kind, startedAt: this.#startedAt })
    if (this.#doubts.get(name)?.kind !== before) this.#seams.onDoubts()
  }

  /** Time until its Node is read again, unless all are read or a message suggests new keys before. */
  #nextMs(name: NodeName, decision: PinDecision): number {
    const { identityChangeAfterMs } = this.#options
    if (decision.kind === 'wait') return Math.max(FIRST_WANTED_MS, decision.ms)
    if (decision.kind === 'dispute') return identityChangeAfterMs
    return decision.kind === 'ask' ? this.#askedMs(this.#doubtedAt.get(name)!) : Infinity
  }

  /** Pause after a failed read. For a Node in doubt it is that of the question to its agent: messages do not shorten it. */
  #failedMs(name: NodeName): number {
    const doubtedAt = this.#doubtedAt.get(name)
    return doubtedAt === undefined
      ? againMs(this.#refusals.get(name) ?? 0)
      : this.#askedMs(doubtedAt)
  }

  /** Soon at first: the request to its agent may have been lost. */
  #askedMs(since: number): number {
    const { exchangeTimeoutMs } = this.#options
    return this.#seams.clock.now() - since < WANTED_MS ? exchangeTimeoutMs : WANTED_MS
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

  /** @returns whether other keys count now */
  #carryOut(name: NodeName, decision: PinDecision): boolean {
    const { pins, log } = this.#seams
    if (decision.kind === 'take') pins.set(decision.pin)
    else if (decision.kind !== 'none' || !pins.delete(name)) return false
    log.info('identity', { member: name, generation: pins.get(name)?.generation ?? null })
    return true
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
