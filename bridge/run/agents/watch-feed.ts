// SPDX-License-Identifier: Apache-2.0
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
  readonly labels: ReadonlyMap<string, string>
  /** In the form that agents are sent, as JSON: text takes a quarter of the object's memory. */
  readonly text: string
  /** A hash of the part that agents are sent. */
  readonly print: bigint
}

/** One node's watch of this feed. */
export interface Subscription {
  readonly node: NodeName
  readonly selects: (view: WatchedView) => boolean
}

export interface WatchFeedSeams {
  readonly client: Pick<ResourceClient, 'watch'>
  readonly log: Logger
  /** An object that a node watches has changed or was deleted. */
  readonly changed: (node: NodeName, key: string) => void
}

/** Deleted objects that are still to be sent. */
const MAX_GONE = 1_024
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

/** One watch of a kind of objects, or of one object, on behalf of all nodes that watch it. */
export class WatchFeed {
  readonly #seams: WatchFeedSeams
  readonly #informer: Informer<WatchedView>
  readonly #gone = new Map<string, { readonly gone: Gone; version: string }>()
  readonly #subscriptions = new Set<Subscription>()

  /** @param target all objects of a kind, or the named one */
  constructor(target: Target, seams: WatchFeedSeams) {
    const { group, version, resource, namespace, name } = target
    const { client, log } = seams
    this.#seams = seams
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
    for (const [key, { version }] of this.#gone)
      if (since !== '' && isNewerThan(version, since)) changed(node, key)
  }

  unsubscribe(subscription: Subscription): void {
    this.#subscriptions.delete(subscription)
  }

  /** The object's present state, or that it was deleted; undefined when neither is known. */
  now(key: string): WatchedView | { readonly gone: Gone; readonly version: string } | undefined {
    const view = this.#informer.get(key)
    if (view !== undefined) return view
    const gone = this.#gone.get(key)
    // A deletion's own version is unknown: use the newest known version.
    return gone && { gone: gone.gone, version: this.#informer.status.resourceVersion }
  }

  stop(): Promise<void> {
    return this.#informer.stop()
  }

  #changed(key: string, before: WatchedView | undefined, after: WatchedView | undefined): void {
    if (after === undefined) this.#keepGone(key, before!)
    else this.#gone.delete(key)
    if (before?.uid === after?.uid && before?.print === after?.print) return
    const nodes = new Set<NodeName>()
    for (const { node, selects } of this.#subscriptions)
      if ([before, after].some(view => view !== undefined && selects(view))) nodes.add(node)
    for (const node of nodes) this.#seams.changed(node, key)
  }

  #keepGone(key: string, { namespace, name, uid }: WatchedView): void {
    this.#gone.delete(key)
    const entry = { gone: { namespace, name, uid }, version: '' }
    this.#gone.set(key, entry)
    // The informer updates its version after it has called its handlers.
    queueMicrotask(() => (entry.version = this.#informer.status.resourceVersion))
    const [oldest] = this.#gone.keys()
    if (this.#gone.size > MAX_GONE) this.#gone.delete(oldest!)
  }
}
