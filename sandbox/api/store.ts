// SPDX-License-Identifier: Apache-2.0
import { freeze, keyOf, type KubeObject } from './object.js'

/** One change of one object. `previous` is missing for ADDED. */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly version: number
  /** The object after the change; for DELETED its last state, under the version of the deletion. */
  readonly object: KubeObject
  readonly previous: KubeObject | undefined
}

interface Shelf {
  readonly objects: Map<string, KubeObject>
  readonly history: StoreEvent[]
  readonly listeners: Set<(event: StoreEvent) => void>
  /** Nothing is known about changes up to and including this version. */
  forgotten: number
}

const byKey = (a: [string, KubeObject], b: [string, KubeObject]): number => (a[0] < b[0] ? -1 : 1)

const keyOfObject = (object: KubeObject): string =>
  keyOf(object.metadata.namespace, object.metadata.name)

const withVersion = (object: KubeObject, version: number): KubeObject =>
  freeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(version) } })

/**
 * The objects, one version counter for all of them, and the last changes of each resource. All calls are
 * synchronous, so a read and the write that follows it in the same turn see the same world.
 */
export class Store {
  readonly #keep: number
  readonly #shelves = new Map<string, Shelf>()
  #version = 1
  #forgotten = 0

  /** @param history how many changes to remember per resource. */
  constructor(history: number) {
    this.#keep = history
  }

  /** The version of the last change of any object. */
  get version(): number {
    return this.#version
  }

  get(resource: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#shelf(resource).objects.get(keyOf(namespace, name))
  }

  /** Every resource that ever had an object. */
  get resources(): readonly string[] {
    return [...this.#shelves.keys()]
  }

  /** All objects, or those of a namespace, in the order of their keys. */
  list(resource: string, namespace?: string): readonly KubeObject[] {
    return ordered(this.#shelf(resource).objects, namespace)
  }

  /** The list as it was at `version`; undefined when that is too long ago. */
  listAt(
    resource: string,
    namespace: string | undefined,
    version: number,
  ): readonly KubeObject[] | undefined {
    const shelf = this.#shelf(resource)
    if (version < shelf.forgotten) return undefined
    const objects = new Map(shelf.objects)
    for (const event of shelf.history.toReversed()) {
      if (event.version <= version) break
      const key = keyOfObject(event.object)
      if (event.previous === undefined) objects.delete(key)
      else objects.set(key, event.previous)
    }
    return ordered(objects, namespace)
  }

  /** Add or replace an object; it gets the next version. */
  put(resource: string, object: KubeObject): KubeObject {
    const shelf = this.#shelf(resource)
    const key = keyOfObject(object)
    const previous = shelf.objects.get(key)
    const stored = withVersion(object, ++this.#version)
    shelf.objects.set(key, stored)
    const type = previous === undefined ? 'ADDED' : 'MODIFIED'
    this.#happened(shelf, { type, version: this.#version, object: stored, previous })
    return stored
  }

  /** Remove an object that is there; the answer is its last state under the version of the removal. */
  remove(resource: string, previous: KubeObject): KubeObject {
    const shelf = this.#shelf(resource)
    shelf.objects.delete(keyOfObject(previous))
    const object = withVersion(previous, ++this.#version)
    this.#happened(shelf, { type: 'DELETED', version: this.#version, object, previous })
    return object
  }

  /** The changes after `version`, oldest first; undefined when some of them are forgotten. */
  eventsAfter(resource: string, version: number): readonly StoreEvent[] | undefined {
    const shelf = this.#shelf(resource)
    if (version < shelf.forgotten) return undefined
    return shelf.history.filter(event => event.version > version)
  }

  /** Hear every later change of a resource. The returned function ends it. */
  subscribe(resource: string, listener: (event: StoreEvent) => void): () => void {
    const { listeners } = this.#shelf(resource)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Forget all past changes, as a compaction does: watches and lists of older versions are answered with 410. */
  forgetHistory(): void {
    this.#forgotten = ++this.#version
    for (const shelf of this.#shelves.values()) {
      shelf.history.length = 0
      shelf.forgotten = this.#forgotten
    }
  }

  #happened(shelf: Shelf, event: StoreEvent): void {
    shelf.history.push(event)
    // Cut in steps, so that a busy resource does not move its whole history at every write.
    if (shelf.history.length >= this.#keep * 2 || shelf.history.length === this.#keep + 1)
      this.#trim(shelf)
    for (const listener of [...shelf.listeners]) listener(event)
  }

  #trim(shelf: Shelf): void {
    const dropped = shelf.history.splice(0, shelf.history.length - this.#keep)
    shelf.forgotten = dropped.at(-1)?.version ?? shelf.forgotten
  }

  #shelf(resource: string): Shelf {
    let shelf = this.#shelves.get(resource)
    if (shelf === undefined) {
      shelf = { objects: new Map(), history: [], listeners: new Set(), forgotten: this.#forgotten }
      this.#shelves.set(resource, shelf)
    }
    return shelf
  }
}

const ordered = (
  objects: ReadonlyMap<string, KubeObject>,
  namespace: string | undefined,
): readonly KubeObject[] =>
  [...objects]
    .filter(([, object]) => namespace === undefined || object.metadata.namespace === namespace)
    .sort(byKey)
    .map(([, object]) => object)
