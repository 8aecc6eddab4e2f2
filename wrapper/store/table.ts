// SPDX-License-Identifier: Apache-2.0
import { History, type HistoryLimits } from './history.js'
import type { Item } from './item.js'
import { looksSame, type Rendering, type Stored } from './stored.js'
import type { Row } from './resources.js'
import type { Versions } from './versions.js'

/** The objects of one resource as they are served, and their history. */
export class Table {
  readonly row: Row
  readonly versions: Versions
  readonly history: History
  /** The apiserver's `Warning` header for this resource. */
  warning: string | undefined
  readonly #records = new Map<string, Stored>()
  /** In the API's order, by bytes. */
  readonly #keys: string[] = []
  readonly #listeners = new Set<() => void>()
  readonly #reachListeners = new Set<() => void>()
  #state: 'empty' | 'filled' | 'absent' = 'empty'
  #isDirty = false
  #upstreamVersion = 0
  #bytes = 0

  constructor(row: Row, versions: Versions, limits: HistoryLimits) {
    this.row = row
    this.versions = versions
    this.history = new History(limits)
  }

  /** `absent`: upstream does not serve it. */
  get state(): 'empty' | 'filled' | 'absent' {
    return this.#state
  }

  /** The apiserver's resourceVersion up to which its writes are known; 0 until the first list of this process. */
  get upstreamVersion(): number {
    return this.#upstreamVersion
  }

  get size(): number {
    return this.#keys.length
  }

  get(key: string): Stored | undefined {
    return this.#records.get(key)
  }

  /** In the API's order; all namespaces without one. */
  list(namespace?: string): readonly Stored[] {
    const [from, to] = this.#span(this.#keys, namespace)
    return this.#keys.slice(from, to).map(key => this.#records.get(key)!)
  }

  /**
   * The objects at a version, in order; undefined when its changes were dropped, or the version was not reached
   * yet.
   */
  listAt(version: number, namespace?: string): readonly Stored[] | undefined {
    const place = this.history.placeAfter(version)
    if (place === undefined || version > this.versions.newest) return undefined
    if (place === this.history.end) return this.list(namespace)
    const then = new Map<string, Stored | undefined>()
    for (let at = this.history.end - 1; at >= place; at--) {
      const { before, after } = this.history.at(at)!
      then.set((before ?? after)!.key, before)
    }
    const keys = [...new Set([...this.#keys, ...then.keys()])].sort(byBytes)
    const [from, to] = this.#span(keys, namespace)
    return keys
      .slice(from, to)
      .map(key => (then.has(key) ? then.get(key) : this.#records.get(key)))
      .filter(record => record !== undefined)
  }

  /** Take an object from the apiserver. It gets a new version only if clients would see a difference. */
  put({ key, raw, version: upstream }: Item, rendering: Rendering): void {
    const before = this.#records.get(key)
    this.#bytes += raw.length - (before?.raw.length ?? 0)
    if (before !== undefined && looksSame(before, { raw, rendering })) {
      this.history.outlive(before)
      this.#records.set(key, { ...before, raw, upstream, rendering })
      return
    }
    const after = { key, raw, upstream, version: this.versions.next(), rendering }
    this.#records.set(key, after)
    if (before === undefined) this.#insert(key)
    this.#changed(after.version, before, after)
  }

  /** Serve a known object in another rendering. */
  rerender(key: string, rendering: Rendering): void {
    const before = this.#records.get(key)
    if (before === undefined || before.rendering.mark === rendering.mark) return
    const { raw, upstream } = before
    this.put({ key, raw, version: upstream }, rendering)
  }

  remove(key: string): void {
    const before = this.#records.get(key)
    if (before === undefined) return
    this.#records.delete(key)
    this.#bytes -= before.raw.length
    this.#keys.splice(lowerBound(this.#keys, key), 1)
    this.#changed(this.versions.next(), before, undefined)
  }

  /** The table is complete: begin to serve it, and to record changes. */
  fill(): void {
    if (this.#state === 'filled') return
    this.#state = 'filled'
    this.history.begin(this.versions.newest)
    this.#isDirty = true
  }

  /** The apiserver does not serve the resource. It may do so later, after an upgrade. */
  absent(): void {
    if (this.#state !== 'empty') return
    this.#state = 'absent'
    this.#isDirty = true
  }

  /** The apiserver's state up to this version is known, changed or not. */
  reached(version: string): void {
    const number = Number(version)
    if (!Number.isSafeInteger(number) || number === this.#upstreamVersion) return
    this.#upstreamVersion = number
    for (const listener of this.#reachListeners) listener()
  }

  /**
   * Called when the apiserver's version has moved on, usually without any change here. Returns a function that
   * ends this.
   */
  onReached(listener: () => void): () => void {
    this.#reachListeners.add(listener)
    return () => this.#reachListeners.delete(listener)
  }

  /** Called once after each batch of changes. Returns a function that ends this. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Call the listeners, if anything changed since the last time. */
  flush(): void {
    if (!this.#isDirty) return
    this.#isDirty = false
    for (const listener of this.#listeners) listener()
  }

  #changed(version: number, before: Stored | undefined, after: Stored | undefined): void {
    if (this.#state !== 'filled') return
    const present = { objects: this.#keys.length, bytes: this.#bytes }
    this.history.push({ version, before, after }, present)
    this.#isDirty = true
  }

  #insert(key: string): void {
    const last = this.#keys.at(-1)
    if (last === undefined || byBytes(last, key) < 0) this.#keys.push(key)
    else this.#keys.splice(lowerBound(this.#keys, key), 0, key)
  }

  #span(keys: readonly string[], namespace: string | undefined): [from: number, to: number] {
    if (namespace === undefined) return [0, keys.length]
    // '0' is the next character after '/'.
    return [lowerBound(keys, `${namespace}/`), lowerBound(keys, `${namespace}0`)]
  }
}

/** Names are ASCII: code units are bytes. */
export const byBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Place of the first key that is not before this one. */
export const lowerBound = (keys: readonly string[], key: string): number => {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (keys[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}
