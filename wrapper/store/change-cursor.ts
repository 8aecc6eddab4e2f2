// SPDX-License-Identifier: Apache-2.0
import { readLabels } from '../wire/meta.js'
import type { Change } from './history.js'
import type { Stored } from './stored.js'
import type { Table } from './table.js'

type Labels = ReadonlyMap<string, string>

/** Which objects a client wants; undefined: all of them. */
export type Selection = ((record: Stored, labels: () => Labels) => boolean) | undefined

/** A change as one client sees it. */
export interface Seen {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** What it shows: of a deletion, the last state. */
  readonly record: Stored
  readonly version: number
  readonly change: Change
}

/** Labels that were read lately: several readers ask for the same. */
const MOST_REMEMBERED = 256

/** Says of records whether selections want them, reading each record's labels once for all readers that keep pace. */
export class SelectorCache {
  readonly #labels = new Map<Stored, Labels>()

  wants(selection: Selection, record: Stored): boolean {
    return selection === undefined || selection(record, () => this.#labelsOf(record))
  }

  /** Nobody reads now: what was remembered may go. */
  forget(): void {
    this.#labels.clear()
  }

  #labelsOf(record: Stored): Labels {
    const known = this.#labels.get(record)
    if (known !== undefined) return known
    const labels = readLabels(record.raw)
    if (this.#labels.size >= MOST_REMEMBERED) this.#labels.delete(this.#labels.keys().next().value!)
    this.#labels.set(record, labels)
    return labels
  }
}

/** Objects enter and leave a selection. */
const seenAs = (
  change: Change,
  selection: Selection,
  selectors: SelectorCache,
): Seen | undefined => {
  const { before, after, version } = change
  const was = before !== undefined && selectors.wants(selection, before)
  // The same bytes in another form: labels are not what pruning changes.
  const is =
    after !== undefined && (before?.raw === after.raw ? was : selectors.wants(selection, after))
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', record: after, version, change }
  return was ? { type: 'DELETED', record: before, version, change } : undefined
}

/**
 * Reads the changes of a table from a place on, one after the other. Holds no queue: a reader that is too slow finds
 * that its place was forgotten, and nobody else notices it.
 */
export class ChangeCursor {
  readonly #table: Table
  readonly #selection: Selection
  readonly #selectors: SelectorCache
  #place: number
  #version: number

  /** @param version everything up to it is known to the client. @param place of the next change */
  constructor(
    { table, selectors }: { readonly table: Table; readonly selectors: SelectorCache },
    selection: Selection,
    { version, place }: { readonly version: number; readonly place: number },
  ) {
    this.#table = table
    this.#selectors = selectors
    this.#selection = selection
    this.#place = place
    this.#version = version
  }

  /** How far this reader has come: a client that knows this version has missed nothing. */
  get version(): number {
    return this.#version
  }

  /** What comes next was forgotten: the reader is of no more use. */
  get isLost(): boolean {
    return this.#place < this.#table.history.start
  }

  /** The next change that the selection sees; undefined when there is none for now. */
  next(): Seen | undefined {
    const { history, versions } = this.#table
    for (;;) {
      const change = history.at(this.#place)
      if (change === undefined) {
        // A change of another resource counts too: this one has had none since.
        if (!this.isLost) this.#version = versions.newest
        return undefined
      }
      this.#place++
      this.#version = change.version
      const seen = seenAs(change, this.#selection, this.#selectors)
      if (seen !== undefined) return seen
    }
  }
}
