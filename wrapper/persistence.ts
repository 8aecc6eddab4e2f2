// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { sleep, type Clock } from '../core/clock.js'
import { reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import type { Folder } from './disk/folder.js'
import { makeLastLists, type LastLists } from './disk/last-lists.js'
import type { SavedItem, SavedItems } from './disk/list-file.js'
import type { NodeDirectory } from './health/node-directory.js'
import type { WrapperServer } from './server.js'
import { RESOURCES, ROWS, type Resource } from './store/resources.js'
import { checkReadable } from './store/readable.js'

/** How long a start waits for the apiserver, and how often a list is written. */
export interface PersistenceOptions {
  readonly bootWaitMs: number
  readonly savePeriodMs: number
}

/** What persistence needs of the world. */
export interface PersistenceSeams {
  readonly folder: Folder
  readonly clock: Clock
  readonly log: Logger
  readonly directory: NodeDirectory
}

/** Interval of checks during the wait for the apiserver's lists. */
const LOOK_MS = 50
/** Name of the file with services' last valid topology keys, which stay if the annotation cannot be read any more. */
const KEYS = 'topologykeys'

/** Name of the file with the nodes that shared a label's value with this node. */
const NEIGHBOURS = 'neighbours'
/** Name of the file with the nodes' addresses. */
const ADDRESSES = 'addresses'

/** A value that is not an API object is stored in the field for the version, since contents are compared by it. */
const jsonItem = (key: string, value: unknown): SavedItem => ({
  ...{ key, version: JSON.stringify(value), raw: new Uint8Array() },
})

const texts = v.array(v.string())
const neighbourhood = v.object({ value: v.string(), names: texts })

const parsed = <T>(schema: v.GenericSchema<unknown, T>, text: string): T =>
  v.parse(schema, JSON.parse(text))

/** Keeps the apiserver's lists on disk, and after a start serves the last ones until the apiserver answers. */
export class Persistence {
  /** When what is served from disk was written, epoch ms. */
  readonly servedFromDisk = new Map<Resource, number>()
  readonly lists: LastLists
  readonly #options: PersistenceOptions
  readonly #seams: PersistenceSeams
  #server: WrapperServer | undefined
  #nodesRecalled: Promise<void> = Promise.resolve()

  constructor(options: PersistenceOptions, seams: PersistenceSeams) {
    this.#options = options
    this.#seams = seams
    this.lists = makeLastLists(
      { periodMs: options.savePeriodMs },
      { ...seams, itemsOf: what => this.#itemsOf(what) },
    )
  }

  /** Whether the present list of a resource is from the apiserver. */
  isFromApi(resource: Resource): boolean {
    return (this.#server?.upstream[resource]?.lists ?? 0) > 0
  }

  /** Load what must be known before the first list. Never rejects. */
  async open(server: WrapperServer): Promise<void> {
    this.#server = server
    const { store } = server
    await this.#load(KEYS, (service, keys) => store.rememberKeys(service, keys))
    await this.#load(NEIGHBOURS, (label, text) => {
      const { value, names } = parsed(neighbourhood, text)
      store.rememberNeighbours(label, { value, names: new Set(names) })
    })
    const addresses = new Map<string, readonly string[]>()
    await this.#load(ADDRESSES, (name, text) => addresses.set(name, parsed(texts, text)))
    this.#seams.directory.update(addresses)
  }

  /**
   * Wait a moment for the apiserver to say which nodes topology keys refer to, and for this node's labels, also from disk;
   * then let services be served without that.
   */
  async stopWaiting(signal: AbortSignal): Promise<void> {
    if (!(await sleep(this.#seams.clock, this.#options.bootWaitMs, signal))) return
    await this.#nodesRecalled
    if (!signal.aborted) this.#server!.store.stopWaiting()
  }

  neighboursChanged(): void {
    this.lists.changed(NEIGHBOURS)
  }

  addressesChanged(): void {
    this.lists.changed(ADDRESSES)
  }

  async #load(what: string, take: (key: string, text: string) => unknown): Promise<void> {
    const list = await this.lists.load(what)
    if (list === undefined || list.items === 'absent') return
    try {
      for (const { key, version } of list.items) take(key, version)
    } catch (error) {
      this.#seams.log.warn('a list on disk cannot be used', { what, error: reasonOf(error) })
    }
  }

  /** A resource has changed: save it, if its list is from the apiserver. */
  changed(resource: Resource): void {
    if (!this.#isAbsent(resource) && !this.isFromApi(resource)) return
    this.lists.changed(resource)
    if (resource === 'services') this.lists.changed(KEYS)
  }

  /**
   * A resource is now followed. Wait a moment for the apiserver; then serve the list on disk. Resources do not
   * wait for each other. Never rejects.
   */
  recall(resource: Resource, signal: AbortSignal): Promise<void> {
    const recalled = this.#recall(resource, signal)
    if (resource === 'nodes') this.#nodesRecalled = recalled
    return recalled
  }

  async #recall(resource: Resource, signal: AbortSignal): Promise<void> {
    const { clock } = this.#seams
    const until = clock.now() + this.#options.bootWaitMs
    while (this.#isOpen(resource) && clock.now() < until)
      if (!(await sleep(clock, LOOK_MS, signal))) return
    if (this.#isListed(resource)) return
    const list = await this.lists.load(resource)
    if (list === undefined || this.#isListed(resource) || signal.aborted) return
    this.#serve(resource, list.items, list.savedAt)
  }

  /**
   * Whether the apiserver has listed a resource, or has answered that it does not exist: a 404 counts once any other
   * resource could be listed.
   */
  #isListed(resource: Resource): boolean {
    if (this.isFromApi(resource)) return true
    return this.#isAbsent(resource) && RESOURCES.some(other => this.isFromApi(other))
  }

  /** Whether waiting a little longer may help. */
  #isOpen(resource: Resource): boolean {
    if (this.#isListed(resource)) return false
    return this.#isAbsent(resource) || this.#server!.upstream[resource]?.trouble === undefined
  }

  #serve(resource: Resource, items: SavedItems, savedAt: number): void {
    const { store } = this.#server!
    this.servedFromDisk.set(resource, savedAt)
    if (items === 'absent') store.absent(resource)
    else store.upstream(resource).replace(items.filter(item => this.#isUsable(resource, item)))
    this.#seams.log.warn('serving from disk until the apiserver answers', {
      ...{ resource, objects: items === 'absent' ? items : items.length },
      savedAt: new Date(savedAt).toISOString(),
    })
  }

  /** An earlier version of the wrapper may have kept objects that this one cannot use. */
  #isUsable(resource: Resource, { key, raw }: SavedItem): boolean {
    try {
      checkReadable(ROWS[resource], raw)
      return true
    } catch (error) {
      this.#seams.log.warn('object left out', { what: resource, name: key, error: reasonOf(error) })
      return false
    }
  }

  #itemsOf(what: string): SavedItems | undefined {
    const { store } = this.#server!
    if (what === KEYS)
      return [...store.topologyKeys].flatMap(([service, keys]) =>
        keys.length > 0 ? [jsonItem(service, keys)] : [],
      )
    if (what === NEIGHBOURS)
      return [...store.lastNeighbours].map(([label, { value, names }]) =>
        jsonItem(label, { value, names: [...names] }),
      )
    if (what === ADDRESSES)
      return [...this.#seams.directory.entries].map(([name, ips]) => jsonItem(name, ips))
    const resource = what as Resource
    if (this.#isAbsent(resource)) return 'absent'
    if (!this.isFromApi(resource)) return undefined
    const records = store.table(resource).list()
    return records.map(({ key, raw, upstream }) => ({ key, raw, version: upstream }))
  }

  #isAbsent(resource: Resource): boolean {
    return this.#server!.store.table(resource).state === 'absent'
  }
}
