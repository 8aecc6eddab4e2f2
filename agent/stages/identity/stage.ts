// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { Roster } from '../../../core/roster.js'
import type { ApiBackoff } from '../../api-backoff.js'
import { IDENTITY_ANNOTATION, type IdentitySubject } from '../../identity/annotation.js'
import { decidePin, type Holder, type Pin, type PinDecision } from '../../identity/pins.js'
import { keepOnly } from '../../keep-only.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { OwnIdentity } from '../../results.js'
import type { StateFolder } from '../../state-folder.js'
import type { ResultStore } from '../../store.js'
import type { Stage } from '../stage.js'
import { OwnKeys, readPublished } from './own-keys.js'
import { OwnNode } from './own-node.js'
import { AGAIN_MS, FIRST_WANTED_MS, REVIEW_MS, reviewMs, WANTED_MS, wantedAt } from './pace.js'
import { parsePins, rememberPins } from './remembered-pins.js'

interface IdentitySeams {
  readonly kube: Pick<KubeApi, 'getNodeNotes' | 'patchNode'>
  readonly folder: StateFolder
  readonly store: ResultStore
  readonly apiBackoff: ApiBackoff
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Keys of so many members are kept after they left: one may come back while the API is silent. */
const MOST_LEFT = 64
/** Reads in one burst, and the time between later ones: a thousand agents begin with a thousand members. */
const AT_ONCE = 30
const APART_MS = 500

/** The keys of this node and of its zone's members, from the API and before that from disk. */
class NodeIdentities implements Stage {
  readonly #options: AgentOptions
  readonly #seams: IdentitySeams
  readonly #stopping = new AbortController()
  readonly #dueAt = new Map<NodeName, number>()
  readonly #readAt = new Map<NodeName, number>()
  /** Since when a member's Node shows keys that the pinned ones did not sign, and its agent is asked about them. */
  readonly #doubtedAt = new Map<NodeName, number>()
  /** Reads of each Node in a row that brought nothing new. */
  readonly #vain = new Map<NodeName, number>()
  readonly #pins = new Map<NodeName, Pin>()
  /** Of members that left, oldest first. */
  readonly #left = new Map<NodeName, Pin>()
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
      this.#own = await OwnKeys.open(folder, this.#options.nodeName, log)
      for (const pin of await this.#recalled()) this.#pins.set(pin.node, pin)
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

  async #recalled(): Promise<readonly Pin[]> {
    const { folder, log } = this.#seams
    const text = await folder.read('identities.json')
    if (text === undefined) return []
    try {
      return parsePins(text)
    } catch (error) {
      log.warn('remembered state is not used', {
        name: 'identities.json',
        error: reasonOf(error),
      })
      return []
    }
  }

  /** The roster may have changed: new members are read, and the keys of those that left are put away. */
  #follow(): void {
    const { roster, source } = this.#seams.store.nodeList.current
    if (roster === undefined || source !== 'api') return
    if (this.#own !== undefined) this.#followMembers(roster)
    // Before `start` the own keys are not read yet.
    if (this.#own !== undefined || this.#options.identity === 'off') this.#plan()
  }

  #followMembers(roster: Roster): void {
    const others = roster.members.filter((_, index) => index !== roster.self)
    const names = new Set(others.map(({ name }) => name))
    for (const known of [this.#dueAt, this.#readAt, this.#doubtedAt, this.#vain])
      keepOnly(known, name => names.has(name))
    for (const name of names) if (!this.#dueAt.has(name)) this.#dueAt.set(name, this.#firstAt(name))
    if (this.#partAndReturn(names)) this.#pinsChanged()
  }

  /** @returns whether that changed whose keys are known */
  #partAndReturn(names: ReadonlySet<NodeName>): boolean {
    const gone = [...this.#pins].filter(([name]) => !names.has(name))
    const back = [...this.#left].filter(([name]) => names.has(name))
    for (const [name, pin] of gone) {
      this.#pins.delete(name)
      this.#left.set(name, pin)
    }
    for (const [name, pin] of back) {
      this.#left.delete(name)
      this.#pins.set(name, pin)
    }
    for (const name of [...this.#left.keys()].slice(0, -MOST_LEFT)) this.#left.delete(name)
    return gone.length + back.length > 0
  }

  /** A member whose keys are known from disk can wait. */
  #firstAt(name: NodeName): number {
    const { clock, random } = this.#seams
    return this.#pins.has(name) ? clock.now() + random.below(REVIEW_MS) : clock.now()
  }

  /** A member seems to have other keys than its pinned ones, or to know other ones of this node. */
  #want(name: NodeName): void {
    if (this.#doubtedAt.has(name)) return
    if (name === this.#options.nodeName) {
      this.#ownNode.want()
      this.#plan()
      return
    }
    const due = this.#dueAt.get(name)
    const soon = wantedAt(this.#seams.clock.now(), this.#readAt.get(name), this.#vain.get(name))
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

  /** Read what is due, one Node after the other. Never rejects. */
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

  /** Every agent publishes its keys before it reads others', so of any two at least one finds the other's. */
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
    this.#vain.set(name, decision.kind === 'take' ? 0 : (this.#vain.get(name) ?? -1) + 1)
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

  /** Time until its Node is read again, unless it seems to have other keys before. */
  #nextMs(name: NodeName, decision: PinDecision): number {
    const { random, clock } = this.#seams
    const { exchangeTimeoutMs, identityChangeAfterMs } = this.#options
    if (decision.kind === 'wait') return Math.max(FIRST_WANTED_MS, decision.ms)
    if (decision.kind === 'dispute') return identityChangeAfterMs
    if (decision.kind !== 'ask') return reviewMs(random)
    // Soon at first: one request to its agent may be lost, or another was under way.
    return clock.now() - this.#doubtedAt.get(name)! < WANTED_MS ? exchangeTimeoutMs : WANTED_MS
  }

  /** Its Node shows keys that the pinned ones did not sign: ask at its address which keys its agent has. */
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
    if (decision.kind === 'take') this.#pins.set(name, decision.pin)
    else if (decision.kind !== 'none' || !this.#pins.delete(name)) return
    const { log } = this.#seams
    log.info('identity', { member: name, generation: this.#pins.get(name)?.generation ?? null })
    this.#pinsChanged()
    // The member's messages were refused until now, so it waits before it sends again: ask it.
    if (isOther) this.#seams.store.whoHasKeys.emit(name)
  }

  /** Milliseconds since a record of the member was made that counted, or since the start of this run. */
  #silentMs(name: NodeName): number {
    const { store, clock } = this.#seams
    const table = store.records.current?.table
    const index = table?.roster.indexOf(name)
    const heardAt = index === undefined ? -Infinity : table!.producedAt[index]!
    return clock.now() - Math.max(heardAt, this.#startedAt)
  }

  #pinsChanged(): void {
    void this.#seams.folder.write('identities.json', rememberPins(this.#pins.values()))
    this.#publish()
  }

  #publish(): void {
    const own: OwnIdentity | undefined = this.#own?.published
    const pins = new Map(this.#pins)
    this.#seams.store.identities.set(Object.freeze({ own, pins, trouble: this.#ownNode.trouble }))
  }

  /** Undefined when the API did not answer, or said no. */
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
