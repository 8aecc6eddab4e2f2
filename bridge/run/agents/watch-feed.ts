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
  readonly #subscriptions = new Set<Subscription>()

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
    this.#subscriptions.add(subscription)
    const { changed } = this.#seams
    const { node, selects } = subscription
    for (const key of this.#informer.keys()) {
      const view = this.#informer.get(key)!
      if (selects(view) && isNewerThan(view.version, since)) changed(node, key)
    }
    for (const [key, { states, version }] of this.#former)
      if (since !== '' && isNewerThan(version, since) && states.some(selects)) changed(node, key)
  }

  unsubscribe(subscription: Subscription): void {
    this.#subscriptions.delete(subscription)
  }

  /**
   * What to tell a node of an object: its present state, or that it is gone. A Node that no watch of the edge selects any
   * more is gone for it: an edge that has not been told of the Node since its watch began would ignore the Node's new labels.
   * @param selects what the node's watches of this feed select
   * @returns undefined when nothing is known of the object
   */
  now(
    key: string,
    selects: Selects,
  ): WatchedView | { readonly gone: Gone; readonly version: string } | undefined {
    const view = this.#informer.get(key)
    if (view !== undefined && (!this.#isForWatches || selects(view))) return view
    const states = this.#former.get(key)?.states ?? []
    const gone = states.findLast(selects) ?? (view === undefined ? states.at(-1) : undefined)
    // A deletion's own version is unknown: use the newest known version.
    return gone === undefined ? view : { gone, version: this.#informer.status.resourceVersion }
  }

  stop(): Promise<void> {
    return this.#informer.stop()
  }

  #changed(key: string, before: WatchedView | undefined, after: WatchedView | undefined): void {
    if (before !== undefined) this.#keepFormer(key, before, after?.labels)
    if (before?.uid === after?.uid && before?.print === after?.print) return
    const states = [before, after].filter(view => view !== undefined)
    const nodes = new Set<NodeName>()
    for (const { node, selects } of this.#subscriptions) if (states.some(selects)) nodes.add(node)
    for (const node of nodes) this.#seams.changed(node, key)
  }

  #keepFormer(key: string, former: WatchedView, now: WatchedView['labels'] | undefined): void {
    const { namespace, name, uid, labels } = former
    if (isDeepStrictEqual(labels, now)) return
    const before = this.#former.get(key)?.states.slice(1 - MAX_LABELS) ?? []
    this.#former.delete(key)
    const entry = { states: [...before, { namespace, name, uid, labels }], version: '' }
    this.#former.set(key, entry)
    // The informer updates its version after it has called its handlers.
    queueMicrotask(() => (entry.version = this.#informer.status.resourceVersion))
    const [oldest] = this.#former.keys()
    if (this.#former.size > MAX_FORMER) this.#former.delete(oldest!)
  }
}
