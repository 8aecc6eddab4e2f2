// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { Roster } from '../../../core/roster.js'
import type { ApiBackoff } from '../../api-backoff.js'
import { IDENTITY_ANNOTATION, type IdentitySubject } from '../../identity/annotation.js'
import { decidePin, type Holder, type PinDecision } from '../../identity/pins.js'
import { keepOnly } from '../../keep-only.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { OwnIdentity } from '../../results.js'
import type { StateFolder } from '../../state-folder.js'
import type { ResultStore } from '../../store.js'
import type { Stage } from '../stage.js'
import { MemberPins } from './member-pins.js'
import { OwnKeys, readPublished } from './own-keys.js'
import { OwnNode } from './own-node.js'
import { AGAIN_MS, FIRST_WANTED_MS, REVIEW_MS, reviewMs, WANTED_MS, wantedAt } from './pace.js'

interface IdentitySeams {
  readonly kube: Pick<KubeApi, 'getNodeNotes' | 'patchNode'>
  readonly folder: StateFolder
  readonly store: ResultStore
  readonly apiBackoff: ApiBackoff
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Reads of Nodes at once, and time between later ones: in a large zone every agent starts by reading every member. */
const AT_ONCE = 30
const APART_MS = 500

/** Keeps the keys of this node and of its zone's members: from disk at first, then from the API. */
class NodeIdentities implements Stage {
  readonly #options: AgentOptions
  readonly #seams: IdentitySeams
  readonly #stopping = new AbortController()
  readonly #dueAt = new Map<NodeName, number>()
  readonly #readAt = new Map<NodeName, number>()
  /** Since when a member's Node has keys that the pinned ones did not sign; its agent is being asked for its keys. */
  readonly #doubtedAt = new Map<NodeName, number>()
  /** Reads of each Node in a row that brought no new keys. */
  readonly #emptyReads = new Map<NodeName, number>()
  readonly #pins: MemberPins
  readonly #ownNode: OwnNode
  #own: OwnKeys | undefined
  #startedAt = 0
  #credit = AT_ONCE
  #creditAt = 0
  #cancel: () => void = () => undefined
  #running: Promise<void> | undefined

  constructor(options: AgentOptions, seams: IdentitySeams) {
    this.#options = options
    this.#seams = seams
    this.#pins = new MemberPins(seams)
    const { store } = seams
    this.#ownNode = new OwnNode(options, {
      ...seams,
      ask: (request, onFailure) =>
        this.#ask('own identity', () => request(this.#stopping.signal), onFailure),
    })
    store.nodeList.subscribe(() => this.#follow())
    store.unknownIdentity.subscribe(name => this.#want(name))
  }

  async start(): Promise<void> {
    const { folder, log, clock } = this.#seams
    this.#startedAt = clock.now()
    this.#creditAt = clock.now()
    if (this.#options.identity !== 'off') {
      const own = await OwnKeys.open(folder, this.#options.nodeName, log)
      await this.#pins.load()
      this.#own = own
      this.#publish()
    }
    this.#follow()
  }

  resumed(): void {
    // Nodes are read from time to time in any case.
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    this.#cancel()
    return this.#running ?? Promise.resolve()
  }

  /** The roster may have changed: plan reads of new members. */
  #follow(): void {
    const { roster, source } = this.#seams.store.nodeList.current
    if (roster === undefined || source !== 'api') return
    if (this.#own !== undefined) this.#followMembers(roster)
    // `start` has not read the keys yet: it calls this again.
    if (this.#own !== undefined || this.#options.identity === 'off') this.#plan()
  }

  #followMembers(roster: Roster): void {
    const others = roster.members.filter((_, index) => index !== roster.self)
    const names = new Set(others.map(({ name }) => name))
    for (const known of [this.#dueAt, this.#readAt, this.#doubtedAt, this.#emptyReads])
      keepOnly(known, name => names.has(name))
    for (const name of names) if (!this.#dueAt.has(name)) this.#dueAt.set(name, this.#firstAt(name))
    if (this.#pins.follow(names)) this.#pinsChanged()
  }

  /** When to read a new member's Node: one whose keys are known from disk can wait. */
  #firstAt(name: NodeName): number {
    const { clock, random } = this.#seams
    return this.#pins.has(name) ? clock.now() + random.below(REVIEW_MS) : clock.now()
  }

  /** A message suggests that the member has other keys than its pinned ones; for the own node, that a peer has old ones of ours. */
  #want(name: NodeName): void {
    if (this.#doubtedAt.has(name)) return
    if (name === this.#options.nodeName) {
      this.#ownNode.want()
      this.#plan()
      return
    }
    const due = this.#dueAt.get(name)
    const soon = wantedAt(
      this.#seams.clock.now(),
      this.#readAt.get(name),
      this.#emptyReads.get(name),
    )
    if (due === undefined || due <= soon) return
    this.#dueAt.set(name, soon)
    this.#plan()
  }

  #plan(): void {
    if (this.#stopping.signal.aborted || this.#running !== undefined) return
    this.#cancel()
    const { clock, apiBackoff } = this.#seams
    const due = Math.min(this.#ownNode.dueAt, ...this.#dueAt.values())
    if (due === Infinity) return
    const at = Math.max(due, apiBackoff.readyAt, this.#credit < 1 ? this.#creditAt + APART_MS : 0)
    this.#cancel = clock.after(Math.max(0, at - clock.now()), () => {
      this.#running = this.#round().finally(() => {
        this.#running = undefined
        this.#plan()
      })
    })
  }

  /** Read the Nodes that are due, one after another. Never rejects. */
  async #round(): Promise<void> {
    const { clock, apiBackoff } = this.#seams
    const { signal } = this.#stopping
    // A request of another stage may have failed since this was planned.
    if (apiBackoff.readyAt > clock.now()) return
    const now = clock.now()
    this.#credit = Math.min(AT_ONCE, this.#credit + (now - this.#creditAt) / APART_MS)
    this.#creditAt = now
    if (this.#ownNode.dueAt <= now) await this.#reviewOwn()
    for (const [name, due] of this.#dueAt) {
      if (signal.aborted || !apiBackoff.isReady || this.#credit < 1) return
      if (due > now) continue
      this.#credit--
      await this.#reviewMember(name)
    }
  }

  async #reviewOwn(): Promise<void> {
    const before = { own: this.#own?.published, trouble: this.#ownNode.trouble }
    await this.#ownNode.review(this.#own)
    const own = this.#own?.published
    if (before.own === undefined && own !== undefined) this.#readUnknown()
    if (own !== before.own || this.#ownNode.trouble !== before.trouble) this.#publish()
  }

  /** Every agent publishes its keys before it reads others', so of any two agents at least one finds the other's keys. */
  #readUnknown(): void {
    const now = this.#seams.clock.now()
    for (const name of this.#dueAt.keys()) if (!this.#pins.has(name)) this.#dueAt.set(name, now)
  }

  #subject(node: NodeName, uid: string): IdentitySubject {
    return { clusterId: this.#options.clusterId, node, uid }
  }

  async #reviewMember(name: NodeName): Promise<void> {
    const { kube, clock, log } = this.#seams
    this.#dueAt.set(name, clock.now() + AGAIN_MS)
    const found = await this.#ask(name, () => kube.getNodeNotes(name, this.#stopping.signal))
    if (found === undefined || !this.#dueAt.has(name)) return
    this.#readAt.set(name, clock.now())
    const identity = this.#options.identity === 'require' ? 'require' : 'prefer'
    const decision = decidePin(
      this.#pins.get(name),
      {
        subject: this.#subject(name, found.uid),
        published: readPublished(found.annotations[IDENTITY_ANNOTATION]),
        silentMs: this.#silentMs(name),
        holder: this.#holder(name),
      },
      { identity, changeAfterMs: this.#options.identityChangeAfterMs },
    )
    this.#emptyReads.set(
      name,
      decision.kind === 'take' ? 0 : (this.#emptyReads.get(name) ?? -1) + 1,
    )
    if (decision.kind === 'ask') this.#doubt(name)
    else this.#doubtedAt.delete(name)
    this.#dueAt.set(name, clock.now() + this.#nextMs(name, decision))
    if (decision.kind === 'refuse')
      log.warn('identity refused: not made by its keys', { member: name })
    if (decision.kind === 'wait')
      log.warn('identity changed without its old key', { member: name, ms: decision.ms })
    if (decision.kind === 'dispute')
      log.warn('identity changed, but its old key answers', { member: name })
    this.#decide(name, decision)
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

  #decide(name: NodeName, decision: PinDecision): void {
    const isOther = this.#pins.has(name)
    if (decision.kind === 'take') this.#pins.set(decision.pin)
    else if (decision.kind !== 'none' || !this.#pins.delete(name)) return
    const { log } = this.#seams
    log.info('identity', { member: name, generation: this.#pins.get(name)?.generation ?? null })
    this.#pinsChanged()
    // Its messages were refused until now, so it backs off before it sends again: ask it instead.
    if (isOther) this.#seams.store.whoHasKeys.emit(name)
  }

  /** Age of the member's newest valid record in milliseconds; at most the time since this agent started. */
  #silentMs(name: NodeName): number {
    const { store, clock } = this.#seams
    const table = store.records.current?.table
    const index = table?.roster.indexOf(name)
    const heardAt = index === undefined ? -Infinity : table!.producedAt[index]!
    return clock.now() - Math.max(heardAt, this.#startedAt)
  }

  #pinsChanged(): void {
    this.#pins.save()
    this.#publish()
  }

  #publish(): void {
    const own: OwnIdentity | undefined = this.#own?.published
    const pins = this.#pins.all
    this.#seams.store.identities.set(Object.freeze({ own, pins, trouble: this.#ownNode.trouble }))
  }

  /** @returns undefined when the request failed */
  async #ask<T>(
    what: string,
    request: () => Promise<T>,
    onFailure: (error: unknown) => void = () => undefined,
  ): Promise<T | undefined> {
    const { apiBackoff, log } = this.#seams
    apiBackoff.left()
    try {
      const answer = await request()
      apiBackoff.succeeded()
      return answer
    } catch (error) {
      if (this.#stopping.signal.aborted) return undefined
      apiBackoff.failed(error)
      log.debug('identity not read or written', { what, error: reasonOf(error) })
      onFailure(error)
      return undefined
    }
  }
}

/** The stage that publishes the own node's keys in its Node and reads the members' keys in theirs. */
export const makeIdentityStage = (options: AgentOptions, seams: IdentitySeams): Stage =>
  new NodeIdentities(options, seams)
