// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import { parseIdentity, resourceText, type ResourceName } from '../kube/client/resource.js'
import type { Watching, WatchStatus } from '../kube/client/watching.js'
import { ViewIndex, type IndexOf } from './view-index.js'

/** What is followed, and what becomes of it. */
export interface InformerOptions<View> {
  readonly client: Pick<ResourceClient, 'watch'>
  readonly log: Logger
  readonly resource: ResourceName
  /** @default everywhere */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** `metadata`: the server leaves out everything but `metadata`; a list of it is a fraction of the size. */
  readonly form: 'full' | 'metadata'
  /**
   * What is kept of an object: a copy of what is used, so that memory is bounded by it. Undefined leaves the object out in
   * silence. One that it throws on is reported and left out, with what was known of it before; no other is touched.
   */
  readonly project: (object: unknown) => View | undefined
  /** Values by which views are found, by the name of the index. */
  readonly indices?: Readonly<Record<string, IndexOf<View>>>
  /**
   * A view is new (`before` is undefined), changed, or removed (`after` is undefined): in this order, each change once. The cache
   * knows it already. An object that was deleted and made anew is reported as removed, then as new.
   */
  readonly onChange?: (key: string, before: View | undefined, after: View | undefined) => void
  /** The watch opened, broke or listed anew. */
  readonly onState?: (status: InformerStatus) => void
}

/** How an informer is doing. */
export interface InformerStatus {
  readonly state: WatchStatus['state'] | 'idle'
  /** Whether a list was complete: what is known was true then, or later. */
  readonly isSynced: boolean
  /** Views in the cache. */
  readonly objects: number
  /** Objects that could not be read. */
  readonly leftOut: number
  /** Clock.now of the last answer, event or bookmark; −Infinity before the first. */
  readonly lastHeardAt: number
  /** Full lists so far. */
  readonly lists: number
  /** The watch's last trouble in words; undefined since its last success. */
  readonly trouble: string | undefined
  /** How far the server's state is known; '' before the first list. */
  readonly resourceVersion: string
}

/** What is known of one object. */
interface Seen<View> {
  readonly key: string
  readonly uid: string
  readonly version: string
  /** Undefined when it is not wanted, or could not be read. */
  readonly view: View | undefined
  /** Of the view, in each index. */
  readonly values: readonly (readonly string[])[]
  /** Why it could not be read. */
  readonly trouble: string | undefined
}

const IDLE = { state: 'idle', lastHeardAt: -Infinity, lists: 0, trouble: undefined } as const

/** Since Kubernetes 1.35 the API promises that versions of a resource are numbers that grow. */
const numberOf = (version: string): bigint | undefined =>
  /^\d{1,30}$/.test(version) ? BigInt(version) : undefined

/**
 * A cache of the objects of a resource, as views, kept true by list and watch. Keys are `namespace/name`, or `name` of what is
 * cluster-wide. After a break what changed meanwhile is reported as changes, and nothing else.
 */
export class Informer<View> {
  readonly #options: InformerOptions<View>
  readonly #index: ViewIndex<View>
  /** Those with a view. */
  readonly #seen = new Map<string, Seen<View> & { readonly view: View }>()
  /** Why objects could not be read, by key. */
  readonly #leftOut = new Map<string, string>()
  /** True when the first list is complete, false when it was stopped before. Never rejects. */
  readonly synced: Promise<boolean>
  #settleSynced!: (isSynced: boolean) => void
  #watching: Watching | undefined
  #hasStopped = false
  #isSynced = false
  #version = ''

  constructor(options: InformerOptions<View>) {
    this.#options = options
    this.#index = new ViewIndex(options.indices ?? {})
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

  /** Begins; a second call does nothing. */
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

  /** The views that the index finds by this value. @throws InvalidInputError when there is no such index */
  byIndex(index: string, value: string): readonly View[] {
    return this.#index.keys(index, value).map(key => this.#seen.get(key)!.view)
  }

  /** Why the object of this key could not be read: the server has it, the cache does not. */
  whyLeftOut(key: string): string | undefined {
    return this.#leftOut.get(key)
  }

  /**
   * Whether the cache shows what a write left there that was answered with this `resourceVersion`. It may never, when the
   * server's store was restored from an older copy: wait with a limit.
   */
  hasReached(version: string): boolean {
    const [wanted, known] = [numberOf(version), numberOf(this.#version)]
    return wanted === undefined || known === undefined ? version === this.#version : known >= wanted
  }

  /** Ends it: no callback comes after the call, and what was known stays. */
  async stop(): Promise<void> {
    this.#hasStopped = true
    this.#settleSynced(false)
    await this.#watching?.stop()
  }

  /** @throws InvalidInputError when it does not say which object it is */
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
    this.#report(key, trouble)
    // Another object of the same name: the first one was deleted while the watch was away.
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
    this.#leftOut.delete(key)
    this.#drop(key)
  }

  #drop(key: string): void {
    const before = this.#seen.get(key)
    if (before === undefined) return
    this.#seen.delete(key)
    this.#index.remove(key, before.values)
    this.#notify(key, before.view, undefined)
  }

  #report(key: string, trouble: string | undefined): void {
    const known = this.#leftOut.get(key)
    if (trouble === undefined) this.#leftOut.delete(key)
    else this.#leftOut.set(key, trouble)
    if (trouble === undefined || trouble === known) return
    const what = resourceText(this.#options.resource)
    this.#options.log.warn('object left out', { what, name: key, error: trouble })
  }

  #notify(key: string, before: View | undefined, after: View | undefined): void {
    if (this.#hasStopped) return
    this.#guarded(() => this.#options.onChange?.(key, before, after))
  }

  #notifyState(): void {
    if (!this.#hasStopped) this.#guarded(() => this.#options.onState?.(this.status))
  }

  /** A listener that throws must not make the cache forget the rest of a list. */
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
