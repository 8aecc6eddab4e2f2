// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { Roster } from '../../../core/roster.js'
import { ListPoint } from '../../../kube/client/list-point.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { OwnIdentity } from '../../results.js'
import type { StateFolder } from '../../state-folder.js'
import type { ResultStore } from '../../store.js'
import type { Stage } from '../stage.js'
import { MemberPins } from './member-pins.js'
import { MemberReviews } from './member-reviews.js'
import { OwnKeys } from './own-keys.js'
import { OwnNode } from './own-node.js'

interface IdentitySeams {
  readonly kube: Pick<KubeApi, 'getNodeNotes' | 'listNodeNotes' | 'patchNode'>
  readonly folder: StateFolder
  readonly store: ResultStore
  readonly apiBackoff: ApiBackoff
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Requests allowed at once, and time between later ones: in a large zone every agent starts by reading every member. */
const AT_ONCE = 30
const APART_MS = 500

/** Keeps the keys of this node and of its zone's members: from disk at first, then from the API. */
class NodeIdentities implements Stage {
  readonly #options: AgentOptions
  readonly #seams: IdentitySeams
  readonly #stopping = new AbortController()
  readonly #pins: MemberPins
  readonly #members: MemberReviews
  readonly #ownNode: OwnNode
  #own: OwnKeys | undefined
  /** The roster whose members' Nodes are read. */
  #followed: Roster | undefined
  #credit = AT_ONCE
  #creditAt = 0
  #cancel: () => void = () => undefined
  #running: Promise<void> | undefined

  constructor(options: AgentOptions, seams: IdentitySeams) {
    this.#options = options
    this.#seams = seams
    this.#pins = new MemberPins(seams)
    const { store } = seams
    const lists = new ListPoint()
    this.#members = new MemberReviews(options, {
      ...{ ...seams, lists, pins: this.#pins, onPins: () => this.#pinsChanged() },
      onDoubts: () => this.#publish(),
      ask: (what, request, onFailure) =>
        this.#ask(what, () => request(this.#stopping.signal), onFailure),
    })
    this.#ownNode = new OwnNode(options, {
      ...{ ...seams, lists },
      ask: (request, onFailure) =>
        this.#ask('own identity', () => request(this.#stopping.signal), onFailure),
    })
    store.nodeList.subscribe(() => this.#follow())
    store.unknownIdentity.subscribe(name => this.#want(name))
  }

  async start(): Promise<void> {
    const { folder, log, clock } = this.#seams
    this.#members.start()
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
    if (roster === this.#followed) return
    this.#followed = roster
    const others = roster.members.filter((_, index) => index !== roster.self)
    const names = new Set(others.map(({ name }) => name))
    this.#members.follow(names)
    if (this.#pins.follow(names)) this.#pinsChanged()
  }

  /** A message suggests that a member has other keys than its pinned ones or, of the own node, that a peer has old ones. */
  #want(name: NodeName): void {
    if (name === this.#options.nodeName) this.#ownNode.want()
    else if (!this.#members.want(name)) return
    this.#plan()
  }

  #plan(): void {
    if (this.#stopping.signal.aborted || this.#running !== undefined) return
    this.#cancel()
    const { clock, apiBackoff } = this.#seams
    const due = Math.min(this.#ownNode.dueAt, this.#members.nextAt)
    if (due === Infinity) return
    const creditAt = this.#credit < 1 ? this.#creditAt + (1 - this.#credit) * APART_MS : 0
    const at = Math.max(due, apiBackoff.readyAt, creditAt)
    this.#cancel = clock.after(Math.max(0, at - clock.now()), () => {
      this.#running = this.#round().finally(() => {
        this.#running = undefined
        this.#plan()
      })
    })
  }

  /** Read the Nodes that are due, one request after another. Never rejects. */
  async #round(): Promise<void> {
    const { clock, apiBackoff } = this.#seams
    const { signal } = this.#stopping
    // A request of another stage may have failed since this was planned.
    if (apiBackoff.readyAt > clock.now()) return
    const now = clock.now()
    this.#credit = Math.min(AT_ONCE, this.#credit + (now - this.#creditAt) / APART_MS)
    this.#creditAt = now
    if (this.#ownNode.dueAt <= now) await this.#reviewOwn()
    for (const { names, cost } of this.#members.due(now)) {
      if (signal.aborted || !apiBackoff.isReady || this.#credit < 1) return
      if (await this.#members.review(names)) this.#credit -= cost
    }
  }

  async #reviewOwn(): Promise<void> {
    const before = { own: this.#own?.published, trouble: this.#ownNode.trouble }
    await this.#ownNode.review(this.#own)
    const own = this.#own?.published
    if (before.own === undefined && own !== undefined) this.#members.readUnknown()
    if (own !== before.own || this.#ownNode.trouble !== before.trouble) this.#publish()
  }

  #pinsChanged(): void {
    this.#pins.save()
    this.#publish()
  }

  #publish(): void {
    const own: OwnIdentity | undefined = this.#own?.published
    const [pins, { doubts }] = [this.#pins.all, this.#members]
    const { trouble } = this.#ownNode
    this.#seams.store.identities.set(Object.freeze({ own, pins, doubts, trouble }))
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
