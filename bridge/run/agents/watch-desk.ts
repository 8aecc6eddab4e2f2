// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../core/clock.js'
import type { KubeStatus } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import type { Logger } from '../../../core/log.js'
import { LabelSelectorError, parseLabelSelector } from '../../../kube/label-selector.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { NodeLink } from '../../hub/node-link.js'
import type { Listing, Target } from '../../model/application/application.js'
import {
  formerly,
  watchDelete,
  watchedType,
  watchUpdate,
} from '../../model/application/watch-messages.js'
import { WatchLane } from '../../model/lane/watch-lane.js'
import type { Message, Stamp } from '../../model/message/message.js'
import { WatchFeed, type Selects, type Subscription } from './watch-feed.js'

export interface WatchDeskSeams {
  readonly client: Pick<ResourceClient, 'watch'>
  readonly clock: Clock
  readonly log: Logger
  /** Whether an agent is on the node now; it may have been removed since its watch began. */
  readonly mayWatch: (node: NodeName) => boolean
}

/** The watches of agents, for the requests that start and end them. */
export interface Watches {
  /** Whether the node has a watch with this id. */
  has(node: NodeName, id: string): boolean
  /** Keep a watch until its node ends it or disconnects. @returns why it is refused; undefined when it is kept */
  add(node: NodeName, id: string, target: Target, listing: Listing): KubeStatus | undefined
  /** End all other watches of a node. */
  keepOnly(node: NodeName, ids: ReadonlySet<string>): void
}

/** Watches of one node. An agent has seven; several programs may watch, with a few each. */
export const MAX_WATCHES = 64
/** Changes within this time are sent together; by then the version of a deletion is known too. */
const GATHER_MS = 20
/** An edge opens a watch within this time after it was approved. It shows a watch no deletion that came before. */
const OPENING_MS = 3_000
/** Wait before an edge that reads slowly is tried again. */
const HELD_MS = 500
/** Wait before a node without an agent is tried again: its agent may be being replaced. */
const NO_AGENT_MS = 30_000

/** Undefined for objects that the node is sent anyway. */
type Watch = { readonly feed: WatchFeed; readonly subscription: Subscription } | undefined

/** The watches of one node on one connection. */
interface Desk {
  readonly link: NodeLink
  readonly lane: WatchLane
  readonly watches: Map<string, Watch>
  /** What to do when the edge has got what it was sent of an object. */
  readonly told: Map<string, () => void>
  timer: { readonly dueAt: number; readonly cancel: () => void } | undefined
}

const refusal = (status: number, reason: string, message: string): KubeStatus => ({
  ...{ status, reason, message },
})

const feedKey = ({ resource, namespace, name }: Target): string =>
  resource === 'nodes' ? resource : `${resource} ${namespace}/${name}`

/** Separates the kind of a feed from an object's key; it occurs in neither. */
const BETWEEN = '|'

/**
 * Sends nodes what their agents watch. Each kind is watched once for all nodes. A node has few messages in flight, and an
 * object is queued once and sent in its latest state. A watch ends with its connection; on the next one the edge starts it
 * again under a new id.
 */
export class WatchDesk implements Watches {
  readonly #seams: WatchDeskSeams
  readonly #feeds = new Map<string, WatchFeed>()
  readonly #types = new Map<string, Target['resource']>()
  readonly #desks = new Map<NodeName, Desk>()

  constructor(seams: WatchDeskSeams) {
    this.#seams = seams
  }

  /** For `/status`. */
  get status(): { readonly watches: number; readonly waiting: number; readonly objects: number } {
    const desks = [...this.#desks.values()]
    const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0)
    return {
      watches: sum(desks.map(({ watches }) => watches.size)),
      waiting: sum(desks.map(({ lane }) => lane.waiting)),
      objects: sum([...this.#feeds.values()].map(({ objects }) => objects)),
    }
  }

  connected(link: NodeLink): void {
    this.#close(link.node)
    const [watches, told] = [new Map<string, Watch>(), new Map<string, () => void>()]
    const desk = { link, lane: new WatchLane(), watches, told, timer: undefined }
    this.#desks.set(link.node, desk)
  }

  ended(link: NodeLink): void {
    if (this.#desks.get(link.node)?.link === link) this.#close(link.node)
  }

  /** An edge acknowledged or refused a message, which may be one of these. */
  acknowledged({ node }: NodeLink, { parentId }: Message): void {
    const desk = this.#desks.get(node)
    const object = desk?.lane.acknowledged(parentId ?? '')
    if (desk === undefined || object === undefined) return
    desk.told.get(object)?.()
    desk.told.delete(object)
    this.#arm(desk, GATHER_MS)
  }

  has(node: NodeName, id: string): boolean {
    return this.#desks.get(node)?.watches.has(id) === true
  }

  add(node: NodeName, id: string, target: Target, listing: Listing): KubeStatus | undefined {
    const desk = this.#desks.get(node)
    if (desk === undefined) return refusal(503, 'ServiceUnavailable', 'the node is not connected')
    if (desk.watches.has(id)) return undefined
    if (listing.fieldSelector !== '')
      return refusal(400, 'BadRequest', 'watches select by labels or by one name')
    try {
      const matches = parseLabelSelector(listing.labelSelector)
      const { name } = target
      // Older edges do not say which of their watches has ended: take it to be the oldest.
      const [, ...younger] = desk.watches.keys()
      if (desk.watches.size >= MAX_WATCHES) this.keepOnly(node, new Set(younger))
      desk.watches.set(id, undefined)
      // The node's own Node is sent whole by `Sender` in any case.
      if (target.resource === 'nodes' && name === node) return undefined
      const selects: Selects = view => (name === '' || view.name === name) && matches(view.labels)
      const openAt = this.#seams.clock.now() + OPENING_MS
      const [feed, subscription] = [this.#feedOf(target), { node, selects, openAt }]
      desk.watches.set(id, { feed, subscription })
      feed.subscribe(subscription, listing.resourceVersion)
      return undefined
    } catch (error) {
      if (!(error instanceof LabelSelectorError)) throw error
      return refusal(400, 'BadRequest', error.message)
    }
  }

  keepOnly(node: NodeName, ids: ReadonlySet<string>): void {
    const desk = this.#desks.get(node)
    for (const [id, watch] of desk?.watches ?? []) {
      if (ids.has(id)) continue
      watch?.feed.unsubscribe(watch.subscription)
      desk!.watches.delete(id)
    }
  }

  /** End all watches. */
  async stop(): Promise<void> {
    for (const node of [...this.#desks.keys()]) this.#close(node)
    await Promise.all([...this.#feeds.values()].map(feed => feed.stop()))
  }

  #close(node: NodeName): void {
    this.keepOnly(node, new Set())
    this.#desks.get(node)?.timer?.cancel()
    this.#desks.delete(node)
  }

  #feedOf(target: Target): WatchFeed {
    const key = feedKey(target)
    const known = this.#feeds.get(key)
    if (known !== undefined) return known
    const { client, log } = this.#seams
    const all = target.resource === 'nodes' ? { ...target, name: '' } : target
    const changed = (node: NodeName, object: string): void => this.#push(node, key, object)
    const feed = new WatchFeed(all, { client, log, changed })
    this.#feeds.set(key, feed)
    this.#types.set(key, target.resource)
    return feed
  }

  #push(node: NodeName, feed: string, object: string): void {
    const desk = this.#desks.get(node)
    if (desk === undefined || (feed === 'nodes' && object === node)) return
    desk.lane.push(`${feed}${BETWEEN}${object}`)
    this.#arm(desk, GATHER_MS)
  }

  #arm(desk: Desk, ms: number): void {
    const { clock } = this.#seams
    const dueAt = clock.now() + ms
    if (desk.timer !== undefined && desk.timer.dueAt <= dueAt) return
    desk.timer?.cancel()
    const cancel = clock.after(ms, () => {
      desk.timer = undefined
      this.#pump(desk)
    })
    desk.timer = { dueAt, cancel }
  }

  #pump(desk: Desk): void {
    const { clock, mayWatch } = this.#seams
    const { link, lane } = desk
    lane.expire(clock.now())
    const waitMs = mayWatch(link.node) ? (link.isHeld ? HELD_MS : undefined) : NO_AGENT_MS
    if (waitMs !== undefined) {
      if (lane.waiting > 0) this.#arm(desk, waitMs)
      return
    }
    for (let object = lane.take(); object !== undefined; object = lane.take()) {
      const messages = this.#messagesFor(desk, object)
      const last = messages.at(-1)
      if (last === undefined) continue
      // The edge takes messages in order, so that the last one's acknowledgement is for all.
      lane.sent(last.id, object, clock.now())
      if (!messages.every(message => link.send(message))) return
    }
    if (lane.dueAt !== undefined) this.#arm(desk, Math.max(GATHER_MS, lane.dueAt - clock.now()))
  }

  /** Send an object again later. */
  #repeat(desk: Desk, object: string): void {
    this.#seams.clock.after(OPENING_MS, () => {
      if (this.#desks.get(desk.link.node) !== desk) return
      desk.lane.push(object)
      this.#arm(desk, GATHER_MS)
    })
  }

  #messagesFor(desk: Desk, object: string): readonly Message[] {
    const { link, watches, told } = desk
    const { clock } = this.#seams
    const [feedName = '', key = ''] = object.split(BETWEEN)
    const feed = this.#feeds.get(feedName)
    if (feed === undefined) return []
    const own = [...watches.values()].flatMap(each =>
      each?.feed === feed ? [each.subscription] : [],
    )
    const { left, view, done } = feed.now(key, own)
    if (view === undefined && left.length === 0) return []
    const isEarly = left.length > 0 && own.some(({ openAt }) => openAt > clock.now())
    told.set(object, isEarly ? () => this.#repeat(desk, object) : done)
    const of = { node: link.node, type: watchedType(this.#types.get(feedName)!) }
    const stamp = (): Stamp => ({ id: randomUUID(), at: clock.wall() })
    if (view === undefined) return left.map(gone => watchDelete(stamp(), of, gone, feed.version))
    const present = JSON.parse(view.text) as JsonMap
    const before = left.map(({ labels }) => formerly(present, labels))
    return [...before, present].map(each => watchUpdate(stamp(), of, each))
  }
}
