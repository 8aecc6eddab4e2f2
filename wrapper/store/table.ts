// SPDX-License-Identifier: Apache-2.0
import { History, type HistoryLimits } from './history.js'
import type { Item } from './item.js'
import { looksSame, type Rendering, type Stored } from './stored.js'
import type { Row } from './resources.js'
import type { Versions } from './versions.js'

/** The objects of one resource as they are served, and how they came to be so. */
export class Table {
  readonly row: Row
  readonly versions: Versions
  readonly history: History
  /** What upstream warns all readers of, as its `Warning` header says it. */
  warning: string | undefined
  readonly #records = new Map<string, Stored>()
  /** In the API's order, which is that of bytes. */
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

  /** How far upstream's writes are seen here, in its own count; 0 until it was heard in this life. */
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

  /** As it was at a version, in order; undefined when that is forgotten, or still to come. */
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

  /** Take what upstream holds. Nothing is served anew when a client would see no difference. */
  put({ key, raw, version: upstream }: Item, rendering: Rendering): void {
    const before = this.#records.get(key)
    this.#bytes += raw.length - (before?.raw.length ?? 0)
    if (before !== undefined && looksSame(before, { raw, rendering })) {
      this.#records.set(key, { ...before, raw, upstream, rendering })
      return
    }
    const after = { key, raw, upstream, version: this.versions.next(), rendering }
    this.#records.set(key, after)
    if (before === undefined) this.#insert(key)
    this.#changed(after.version, before, after)
  }

  /** Show an object that is there in another rendering. */
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

  /** What is there is all there is: from now on it is served, and each change is remembered. */
  fill(): void {
    if (this.#state === 'filled') return
    this.#state = 'filled'
    this.history.begin(this.versions.newest)
    this.#isDirty = true
  }

  /** Upstream does not serve it. It may do so later, after an upgrade. */
  absent(): void {
    if (this.#state !== 'empty') return
    this.#state = 'absent'
    this.#isDirty = true
  }

  /** Upstream's state up to this version of its own is here, changed or not. */
  reached(version: string): void {
    const number = Number(version)
    if (!Number.isSafeInteger(number) || number === this.#upstreamVersion) return
    this.#upstreamVersion = number
    for (const listener of this.#reachListeners) listener()
  }

  /** Called when upstream's version has moved on, which most often changes nothing else. Returns what ends it. */
  onReached(listener: () => void): () => void {
    this.#reachListeners.add(listener)
    return () => this.#reachListeners.delete(listener)
  }

  /** Called after changes, once for all that came together. Returns what ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Tell the listeners, if anything changed since the last time. */
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
