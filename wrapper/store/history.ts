// SPDX-License-Identifier: Apache-2.0
import type { Stored } from './stored.js'

/** One change of one resource, as it was served. */
export interface Change {
  readonly version: number
  /** What stands there since; undefined when the object went. */
  readonly after: Stored | undefined
  /** What stood there until then; undefined when the object is new. */
  readonly before: Stored | undefined
}

/** How much past is kept. Whatever is more is forgotten, and who has not read it yet must list again. */
export interface HistoryLimits {
  readonly changes: number
  /** Bytes that nothing but the past holds, after readers had their time. */
  readonly bytes: number
}

/** What is there now: all of it may change at once, and that alone must not overtake a reader that keeps pace. */
export interface Present {
  readonly objects: number
  readonly bytes: number
}

/** What a change keeps alive that the present does not. */
const heldBytes = ({ before, after }: Change): number =>
  before === undefined || before.raw === after?.raw ? 0 : before.raw.length

/**
 * The last changes of one resource, in order. A place in it is a running number that never comes again, so that a
 * reader keeps nothing but the number of its next change.
 */
export class History {
  readonly #limits: HistoryLimits
  #changes: Change[] = []
  /** Dropped from the front, but not yet cut off. */
  #gone = 0
  /** The place of `#changes[0]`. */
  #base = 0
  #bytes = 0
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

  /** All changes after this version are known. */
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

  /** Whether it holds more bytes than it may in the long run. */
  get isOverfull(): boolean {
    return this.#bytes > this.#limits.bytes
  }

  /** Forget what is too much, but nothing from `place` on: readers had no time for that yet. */
  trim(place: number): void {
    while (this.isOverfull && this.start < place) this.#drop()
  }

  /** Where a reader goes on that has seen everything up to `version`; undefined when that is forgotten. */
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

  /** The past begins here: nothing was kept so far. */
  begin(floor: number): void {
    this.#floor = floor
  }

  #drop(): void {
    const change = this.at(this.start)!
    this.#bytes -= heldBytes(change)
    this.#floor = change.version
    this.#gone++
    // Cutting the front off costs as much as the rest is long: not for each change.
    if (this.#gone < 1_024 && this.#gone < this.#changes.length) {
      this.#changes[this.#gone - 1] = FORGOTTEN
      return
    }
    this.#changes = this.#changes.slice(this.#gone)
    this.#base += this.#gone
    this.#gone = 0
  }
}

/** Stands where a change was, so that its bytes can go at once. */
const FORGOTTEN: Change = { version: 0, after: undefined, before: undefined }
