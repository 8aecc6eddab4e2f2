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
  /** The object; after a deletion its last state. */
  readonly record: Stored
  readonly version: number
  readonly change: Change
}

/** Decoded labels are kept for so many records: several cursors ask for the same ones. */
const MOST_REMEMBERED = 256

/** Tests records against selections, decoding the labels of each record once for all cursors that keep up. */
export class SelectorCache {
  readonly #labels = new Map<Stored, Labels>()

  wants(selection: Selection, record: Stored): boolean {
    return selection === undefined || selection(record, () => this.#labelsOf(record))
  }

  /** Drop the decoded labels; no cursor is reading. */
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

/** The change as a client with this selection sees it: objects enter and leave the selection. */
const seenAs = (
  change: Change,
  selection: Selection,
  selectors: SelectorCache,
): Seen | undefined => {
  const { before, after, version } = change
  const was = before !== undefined && selectors.wants(selection, before)
  // The same bytes in another rendering, which does not change labels.
  const is =
    after !== undefined && (before?.raw === after.raw ? was : selectors.wants(selection, after))
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', record: after, version, change }
  return was ? { type: 'DELETED', record: before, version, change } : undefined
}

/**
 * Reads the changes of a table in order, from a place on. It has no queue: when its next change was dropped from
 * the history it is lost, and nothing else is affected.
 */
export class ChangeCursor {
  readonly #table: Table
  readonly #selection: Selection
  readonly #selectors: SelectorCache
  #place: number
  #version: number

  /**
   * @param version the client knows everything up to it
   * @param place of the next change
   */
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

  /** A client that knows this version has missed nothing so far. */
  get version(): number {
    return this.#version
  }

  /** The next change was dropped from the history: the client must list again. */
  get isLost(): boolean {
    return this.#place < this.#table.history.start
  }

  /** Look at the next change; undefined when there is none for now. */
  next(): Seen | 'not selected' | undefined {
    const { history, versions } = this.#table
    const change = history.at(this.#place)
    if (change === undefined) {
      // Also after changes of other resources: this one has had none since.
      if (!this.isLost) this.#version = versions.newest
      return undefined
    }
    this.#place++
    this.#version = change.version
    return seenAs(change, this.#selection, this.#selectors) ?? 'not selected'
  }
}
