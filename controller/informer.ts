// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import { parseIdentity, resourceText, type ResourceName } from '../kube/client/resource.js'
import { versionNumber } from '../kube/client/version-order.js'
import type { Watching, WatchStatus } from '../kube/client/watching.js'
import { LeftOut } from './left-out.js'
import { ViewIndex, type IndexOf } from './view-index.js'

/** What to list and watch, and what to do with it. */
export interface InformerOptions<View> {
  readonly client: Pick<ResourceClient, 'watch'>
  readonly log: Logger
  readonly resource: ResourceName
  /** @default all namespaces */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** `metadata`: the server sends only `metadata`, which makes lists much smaller. */
  readonly form: 'full' | 'metadata'
  /**
   * Copies from an object what is to be kept, which bounds memory. Undefined leaves the object out. An object for which it
   * throws is logged and left out, with what was known of it before; others are not affected.
   */
  readonly project: (object: unknown) => View | undefined
  /** Functions that give the values under which a view is found, by name of the index. */
  readonly indices?: Readonly<Record<string, IndexOf<View>>>
  /**
   * Called once per change: a view is new (`before` is undefined), changed, or removed (`after` is undefined). The cache
   * has the change already. An object that was deleted and created again is reported as removed, then as new.
   */
  readonly onChange?: (key: string, before: View | undefined, after: View | undefined) => void
  /** The watch opened, failed or listed again. */
  readonly onState?: (status: InformerStatus) => void
}

/** For status and metrics. */
export interface InformerStatus {
  readonly state: WatchStatus['state'] | 'idle'
  /** Whether a complete list was received. */
  readonly isSynced: boolean
  /** Views in the cache. */
  readonly objects: number
  /** Objects that could not be read. */
  readonly leftOut: number
  /** Clock.now of the last answer, event or bookmark; −Infinity before the first. */
  readonly lastHeardAt: number
  /** Full lists so far. */
  readonly lists: number
  /** Why the watch failed last; undefined since its last success. */
  readonly trouble: string | undefined
  /** The version up to which the server's state is known; '' before the first list. */
  readonly resourceVersion: string
}

/** One object as last seen. */
interface Seen<View> {
  readonly key: string
  readonly uid: string
  readonly version: string
  /** Undefined when `project` left it out or could not read it. */
  readonly view: View | undefined
  /** Its index values, per index. */
  readonly values: readonly (readonly string[])[]
  /** Why it could not be read. */
  readonly trouble: string | undefined
}

const IDLE = { state: 'idle', lastHeardAt: -Infinity, lists: 0, trouble: undefined } as const

/**
 * A cache of a resource's objects as views, kept up to date by list and watch. Keys are `namespace/name`, or `name` for
 * cluster-scoped objects. After an interruption only what changed meanwhile is reported.
 */
export class Informer<View> {
  readonly #options: InformerOptions<View>
  readonly #index: ViewIndex<View>
  /** Objects with a view. */
  readonly #seen = new Map<string, Seen<View> & { readonly view: View }>()
  readonly #leftOut: LeftOut
  /** Resolves with true after the first complete list, with false if stopped before. Never rejects. */
  readonly synced: Promise<boolean>
  #settleSynced!: (isSynced: boolean) => void
  #watching: Watching | undefined
  #hasStopped = false
  #isSynced = false
  #version = ''

  constructor(options: InformerOptions<View>) {
    this.#options = options
    this.#index = new ViewIndex(options.indices ?? {})
    this.#leftOut = new LeftOut(resourceText(options.resource), options.log)
    this.synced = new Promise(resolve => {
      this.#settleSynced = resolve
    })
  }

  get status(): InformerStatus {
    const { state, lastHeardAt, lists, trouble } = this.#watching?.status ?? IDLE
    return {
      ...{ state: this.#hasStopped ? 'stopped' : state, lastHeardAt, lists, trouble },
      isSynced: this.#isSynced,
      objects: this.#seen.size,
      leftOut: this.#leftOut.size,
      resourceVersion: this.#version,
    }
  }

  /** Start; a second call does nothing. */
  start(): void {
    if (this.#watching !== undefined || this.#hasStopped) return
    const { client, resource, namespace, labelSelector, fieldSelector, form } = this.#options
    const parse = (raw: unknown): Seen<View> => this.#look(raw)
    const type = { ...resource, isMetadataOnly: form === 'metadata', parse }
    this.#watching = client.watch(
      type,
      { namespace, labelSelector, fieldSelector },
      {
        replace: all => this.#replace(all),
        upsert: seen => this.#upsert(seen),
        remove: key => this.#remove(key),
        reached: version => {
          this.#version = version
        },
        changed: () => this.#notifyState(),
      },
    )
  }

  get(key: string): View | undefined {
    return this.#seen.get(key)?.view
  }

  list(): readonly View[] {
    return [...this.#seen.values()].map(({ view }) => view)
  }

  keys(): readonly string[] {
    return [...this.#seen.keys()]
  }

  /** The views with this value in an index. @throws InvalidInputError when there is no such index */
  byIndex(index: string, value: string): readonly View[] {
    return this.#index.keys(index, value).map(key => this.#seen.get(key)!.view)
  }

  /** Why the object with this key could not be read; it is on the server but not in the cache. */
  whyLeftOut(key: string): string | undefined {
    return this.#leftOut.why(key)
  }

  /**
   * Whether the cache contains the result of a write that returned this `resourceVersion`. It may never do so if the
   * server's store was restored from a backup, so wait with a limit.
   */
  hasReached(version: string): boolean {
    const [wanted, known] = [versionNumber(version), versionNumber(this.#version)]
    return wanted === undefined || known === undefined ? version === this.#version : known >= wanted
  }

  /** Stop: no callback is called after this, and the cache keeps what it has. */
  async stop(): Promise<void> {
    this.#hasStopped = true
    this.#settleSynced(false)
    await this.#watching?.stop()
  }

  /** @throws InvalidInputError when the object has no name */
  #look(raw: unknown): Seen<View> {
    const id = parseIdentity(raw)
    try {
      const view = this.#options.project(raw)
      const values = view === undefined ? [] : this.#index.valuesOf(view)
      return { ...id, view, values, trouble: undefined }
    } catch (error) {
      return { ...id, view: undefined, values: [], trouble: reasonOf(error) }
    }
  }

  #replace(all: readonly Seen<View>[]): void {
    const listed = new Set(all.map(({ key }) => key))
    for (const key of [...this.#seen.keys(), ...this.#leftOut.keys()])
      if (!listed.has(key)) this.#remove(key)
    for (const seen of all) this.#upsert(seen)
    this.#isSynced = true
    this.#settleSynced(true)
    this.#notifyState()
  }

  #upsert(seen: Seen<View>): void {
    const { key, uid, version, view, trouble } = seen
    const before = this.#seen.get(key)
    if (before?.uid === uid && before.version === version) return
    this.#leftOut.set(key, trouble)
    // Another object with the same name: the first one was deleted while the watch was interrupted.
    if (view === undefined || (before !== undefined && before.uid !== uid)) this.#drop(key)
    if (view !== undefined) this.#put({ ...seen, view })
  }

  #put(seen: Seen<View> & { readonly view: View }): void {
    const { key, values } = seen
    const before = this.#seen.get(key)
    if (before !== undefined) this.#index.remove(key, before.values)
    this.#seen.set(key, seen)
    this.#index.add(key, values)
    this.#notify(key, before?.view, seen.view)
  }

  #remove(key: string): void {
    this.#leftOut.set(key, undefined)
    this.#drop(key)
  }

  #drop(key: string): void {
    const before = this.#seen.get(key)
    if (before === undefined) return
    this.#seen.delete(key)
    this.#index.remove(key, before.values)
    this.#notify(key, before.view, undefined)
  }

  #notify(key: string, before: View | undefined, after: View | undefined): void {
    if (this.#hasStopped) return
    this.#guarded(() => this.#options.onChange?.(key, before, after))
  }

  #notifyState(): void {
    if (!this.#hasStopped) this.#guarded(() => this.#options.onState?.(this.status))
  }

  /** A listener that throws must not lose the rest of a list. */
  #guarded(call: () => void): void {
    try {
      call()
    } catch (error) {
      const what = resourceText(this.#options.resource)
      this.#options.log.error('bug: the listener of an informer threw', {
        what,
        error: reasonOf(error),
      })
    }
  }
}
