// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from 'node:util'
import { Informer } from '../../../controller/informer.js'
import { id64, type NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { Logger } from '../../../core/log.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import { agentView, newsOf } from '../../model/application/agent-view.js'
import type { Target } from '../../model/application/application.js'
import { isNewerThan, labelsOf, type Gone } from '../../model/application/watch-messages.js'
import { metadataOf } from '../../model/merge/tidy.js'

/** An object in the form that watches need. */
export interface WatchedView extends Gone {
  readonly version: string
  /** In the form that agents are sent, as JSON: text takes a quarter of the object's memory. */
  readonly text: string
  /** A hash of the part that agents are sent. */
  readonly print: bigint
}

/** One node's watch of this feed. */
export interface Subscription {
  readonly node: NodeName
  readonly selects: Selects
  /** By when the edge has opened it, clock ms. */
  readonly openAt: number
}

/** Whether a watch shows objects of this name with these labels. */
export type Selects = (object: Pick<Gone, 'labels' | 'name'>) => boolean

export interface WatchFeedSeams {
  readonly client: Pick<ResourceClient, 'watch'>
  readonly log: Logger
  /** An object that a node watches has changed or was deleted. */
  readonly changed: (node: NodeName, key: string) => void
}

/** Objects whose former labels are known; they are those that were deleted, or got other labels, last. */
const MAX_FORMER = 1_024
/** Former labels per object. */
const MAX_LABELS = 4
/** Stands for no node: the stored form is the same for all. */
const NOBODY = '' as NodeName

const textIn = (map: JsonMap, key: string): string => {
  const value = map[key]
  return typeof value === 'string' ? value : ''
}

const viewOf = (target: Target, raw: unknown): WatchedView => {
  const object = agentView(target, isMap(raw) ? raw : {}, NOBODY)
  const metadata = metadataOf(object)
  return {
    namespace: textIn(metadata, 'namespace'),
    name: textIn(metadata, 'name'),
    uid: textIn(metadata, 'uid'),
    version: textIn(metadata, 'resourceVersion'),
    labels: labelsOf(object),
    text: JSON.stringify(object),
    print: id64(newsOf(object)),
  }
}

const goneOf = ({ namespace, name, uid, labels }: WatchedView): Gone => ({
  ...{ namespace, name, uid, labels },
})

/** The last of those with the same labels. */
const distinct = (states: readonly Gone[]): readonly Gone[] =>
  states.filter(
    ({ labels }, at) =>
      !states.slice(at + 1).some(later => isDeepStrictEqual(later.labels, labels)),
  )

interface Change {
  readonly key: string
  readonly before: WatchedView | undefined
  readonly after: WatchedView | undefined
}

/** Whether a watch is to be told of a change. @param left gets what it does not select any more */
const concerns = (
  selects: Selects,
  left: Map<string, Gone>,
  { key, before, after }: Change,
): boolean => {
  if (after !== undefined && selects(after)) {
    left.delete(key)
    return true
  }
  if (before === undefined || !selects(before)) return false
  left.set(key, goneOf(before))
  return true
}

const nothing = (): void => undefined

/** What a node is to be told of an object. */
export interface Told {
  /** What it was for watches that do not select it any more. */
  readonly left: readonly Gone[]
  /** Undefined when it is gone for all watches of the node. */
  readonly view: WatchedView | undefined
  /** The edge has got all of that. */
  readonly done: () => void
}

/** What an object was until its last deletion, or change of labels. */
interface Former {
  /** Oldest first. */
  readonly states: readonly Gone[]
  /** Of the deletion or change. */
  version: string
}

/** One watch of a kind of objects, or of one object, on behalf of all nodes that watch it. */
export class WatchFeed {
  readonly #seams: WatchFeedSeams
  /** Whether nodes get objects of this kind for their watches alone, so that they may be told that one is gone which is not. */
  readonly #isForWatches: boolean
  readonly #informer: Informer<WatchedView>
  readonly #former = new Map<string, Former>()
  /** With what each knows and does not select any more, by key: that is to be told to it. */
  readonly #subscriptions = new Map<Subscription, Map<string, Gone>>()

  /** @param target all objects of a kind, or the named one */
  constructor(target: Target, seams: WatchFeedSeams) {
    const { group, version, resource, namespace, name } = target
    const { client, log } = seams
    this.#seams = seams
    this.#isForWatches = resource === 'nodes'
    this.#informer = new Informer({
      ...{ client, log, form: 'full', resource: { group, version, resource } },
      ...(namespace === '' ? {} : { namespace }),
      ...(name === '' ? {} : { fieldSelector: `metadata.name=${name}` }),
      project: raw => viewOf(target, raw),
      onChange: (key, before, after) => this.#changed(key, before, after),
    })
    this.#informer.start()
  }

  /** Objects in memory. */
  get objects(): number {
    return this.#informer.status.objects
  }

  /** Report changes to a node from now on, and those that may have happened since its list. */
  subscribe(subscription: Subscription, since: string): void {
    const left = new Map<string, Gone>()
    this.#subscriptions.set(subscription, left)
    const { changed } = this.#seams
    const { node, selects } = subscription
    for (const key of this.#informer.keys()) {
      const view = this.#informer.get(key)!
      if (selects(view) && isNewerThan(view.version, since)) changed(node, key)
    }
    for (const [key, { states, version }] of this.#former) {
      const known = states.findLast(selects)
      if (since === '' || !isNewerThan(version, since) || known === undefined) continue
      const view = this.#informer.get(key)
      if (view === undefined || !selects(view)) left.set(key, known)
      changed(node, key)
    }
  }

  unsubscribe(subscription: Subscription): void {
    this.#subscriptions.delete(subscription)
  }

  /**
   * What to tell a node of an object, in this order: what some of its watches knew and do not select any more, then its
   * present state. An edge that has not been told of a Node since a watch began would hide the Node's new labels from that
   * watch, so it is first told the labels by which the watch knows the Node.
   * @param subscriptions the node's watches of this feed
   */
  now(key: string, subscriptions: readonly Subscription[]): Told {
    const view = this.#informer.get(key)
    const isSeen = view !== undefined && subscriptions.some(({ selects }) => selects(view))
    if (view !== undefined && !this.#isForWatches) return { left: [], view, done: nothing }
    const left = subscriptions.flatMap(each => {
      const gone = this.#subscriptions.get(each)?.get(key)
      return gone === undefined ? [] : [{ each, gone }]
    })
    const done = (): void => {
      for (const { each, gone } of left) {
        const owed = this.#subscriptions.get(each)
        if (owed?.get(key) === gone) owed.delete(key)
      }
    }
    const states = distinct(left.map(({ gone }) => gone))
    if (isSeen) return { left: states, view, done }
    if (states.length > 0) return { left: states, view: undefined, done }
    const last = this.#former.get(key)?.states.at(-1)
    return { left: view !== undefined || last === undefined ? [] : [last], view, done }
  }

  /** The newest known version. A deletion's own version is unknown, and this one is newer. */
  get version(): string {
    return this.#informer.status.resourceVersion
  }

  stop(): Promise<void> {
    return this.#informer.stop()
  }

  #changed(key: string, before: WatchedView | undefined, after: WatchedView | undefined): void {
    if (before !== undefined) this.#keepFormer(key, before, after?.labels)
    if (before?.uid === after?.uid && before?.print === after?.print) return
    const nodes = new Set<NodeName>()
    for (const [{ node, selects }, left] of this.#subscriptions)
      if (concerns(selects, left, { key, before, after })) nodes.add(node)
    for (const node of nodes) this.#seams.changed(node, key)
  }

  #keepFormer(key: string, former: WatchedView, now: WatchedView['labels'] | undefined): void {
    if (isDeepStrictEqual(former.labels, now)) return
    const before = this.#former.get(key)?.states ?? []
    this.#former.delete(key)
    const states = distinct([...before, goneOf(former)]).slice(-MAX_LABELS)
    const entry = { states, version: '' }
    this.#former.set(key, entry)
    // The informer updates its version after it has called its handlers.
    queueMicrotask(() => (entry.version = this.#informer.status.resourceVersion))
    const [oldest] = this.#former.keys()
    if (this.#former.size > MAX_FORMER) this.#former.delete(oldest!)
  }
}
