// SPDX-License-Identifier: Apache-2.0
import type { Stored } from './stored.js'

/** One change of one object, as it was served. */
export interface Change {
  readonly version: number
  /** The object after the change; undefined when it was deleted. */
  readonly after: Stored | undefined
  /** The object before the change; undefined when it is new. */
  readonly before: Stored | undefined
}

/** How much history is kept. Older changes are dropped, and a client that has not read them must list again. */
export interface HistoryLimits {
  readonly changes: number
  /** Bytes that only the history keeps in memory, once clients had time to read. */
  readonly bytes: number
}

/** The size of the present state. All of it may change at once, and that alone must not overtake a client that keeps up. */
export interface Present {
  readonly objects: number
  readonly bytes: number
}

/** Bytes that a change keeps in memory and its outcome does not. */
const heldBytes = ({ before, after }: Change): number => {
  if (before === undefined) return 0
  return before.rendering.bytes + (before.raw === after?.raw ? 0 : before.raw.length)
}

/**
 * The last changes of one resource, in order. Each has a place, a running number that is never reused: a client's
 * position is the place of its next change.
 */
export class History {
  readonly #limits: HistoryLimits
  #changes: Change[] = []
  /** Changes dropped from the front that are still in the array. */
  #gone = 0
  /** The place of `#changes[0]`. */
  #base = 0
  #bytes = 0
  /** By version, the bytes of changes' outcomes that were replaced by others that look the same. */
  readonly #outlived = new Map<number, number>()
  #floor = Infinity

  constructor(limits: HistoryLimits) {
    this.#limits = limits
  }

  /** The place of the change that comes next. */
  get end(): number {
    return this.#base + this.#changes.length
  }

  /** The place of the oldest change that is still known. */
  get start(): number {
    return this.#base + this.#gone
  }

  /** All changes after this version are kept. */
  get floor(): number {
    return this.#floor
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Undefined outside of `start` … `end`. */
  at(place: number): Change | undefined {
    return place < this.start ? undefined : this.#changes[place - this.#base]
  }

  push(change: Change, { objects, bytes }: Present): void {
    this.#changes.push(change)
    this.#bytes += heldBytes(change)
    const most = Math.max(this.#limits.changes, 2 * objects)
    const mostBytes = this.#limits.bytes + bytes
    while (this.end - this.start > most || this.#bytes > mostBytes) this.#drop()
  }

  /** A record is replaced by one that looks the same: from now on only the history may have it. */
  outlive({ version, raw, rendering }: Stored): void {
    if (version <= this.#floor || this.#outlived.has(version)) return
    const bytes = raw.length + rendering.bytes
    this.#outlived.set(version, bytes)
    this.#bytes += bytes
  }

  /** Whether it holds more bytes than it may in the long run. */
  get isOverfull(): boolean {
    return this.#bytes > this.#limits.bytes
  }

  /** Drop what exceeds the limits, but nothing from `place` on: clients had no time to read that yet. */
  trim(place: number): void {
    while (this.isOverfull && this.start < place) this.#drop()
  }

  /** The place of the first change after `version`; undefined when changes since then were dropped. */
  placeAfter(version: number): number | undefined {
    if (version < this.#floor) return undefined
    let low = this.start
    let high = this.end
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.at(middle)!.version <= version) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The history begins at this version; it must be empty. */
  begin(floor: number): void {
    this.#floor = floor
  }

  #drop(): void {
    const change = this.at(this.start)!
    this.#bytes -= heldBytes(change) + (this.#outlived.get(change.version) ?? 0)
    this.#outlived.delete(change.version)
    this.#floor = change.version
    this.#gone++
    // Removing from the front of an array costs time in proportion to the rest: not for each change.
    if (this.#gone < 1_024 && this.#gone < this.#changes.length) {
      this.#changes[this.#gone - 1] = FORGOTTEN
      return
    }
    this.#changes = this.#changes.slice(this.#gone)
    this.#base += this.#gone
    this.#gone = 0
  }
}

/** Replaces a dropped change, so that its bytes can be freed at once. */
const FORGOTTEN: Change = { version: 0, after: undefined, before: undefined }
