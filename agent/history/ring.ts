// SPDX-License-Identifier: Apache-2.0
import type { HistoryKind } from '../http/history-view.js'

/** Something that happened in the zone, as this agent saw it. */
export interface HistoryEntry {
  /** Grows by one with each entry, also over a restart. */
  readonly id: number
  /** `Clock.now`; of an earlier run it lies before the start. */
  readonly at: number
  readonly kind: HistoryKind
  /** The first of the nodes that it happened to; none for the agent or the zone as a whole. */
  readonly nodes: readonly string[]
  /** How many nodes it happened to. */
  readonly count: number
  /** What was before; null where nothing was. */
  readonly from: string | null
  readonly to: string
  /** Further details, in words; may be empty. */
  readonly note: string
}

/** An entry that has no id and time yet. */
export interface NewEntry extends Pick<HistoryEntry, 'kind' | 'to'> {
  readonly nodes?: readonly string[]
  readonly from?: string | null
  readonly note?: string
}

/** Most entries that are kept. */
export const CAPACITY = 1_024
/** Nodes that one entry names; the others are counted. */
export const NODES_NAMED = 16
export const NOTE_CHARACTERS = 200
/** Most characters of all names and notes together: with long names fewer entries are kept. */
const MAX_CHARACTERS = 192 << 10

const charactersOf = ({ nodes, from, to, note }: HistoryEntry): number =>
  [...nodes, from ?? '', to, note].reduce((sum, { length }) => sum + length, 0)

/** The newest entries, bounded by number and by size: under 1 MiB whatever happens. */
export class HistoryRing {
  readonly #entries: HistoryEntry[] = []
  #characters = 0
  #lastId = 0

  /** Oldest first. */
  get entries(): readonly HistoryEntry[] {
    return this.#entries
  }

  /** Id of the newest entry; 0 before the first. */
  get lastId(): number {
    return this.#lastId
  }

  /** Take over what an earlier run saved, oldest first, before anything is added. */
  restore(entries: readonly HistoryEntry[]): void {
    for (const entry of entries) this.#push(entry)
  }

  add({ kind, to, nodes = [], from = null, note = '' }: NewEntry, at: number): HistoryEntry {
    const entry: HistoryEntry = {
      ...{ id: this.#lastId + 1, at, kind, from, to },
      ...{ nodes: nodes.slice(0, NODES_NAMED), count: nodes.length },
      note: note.slice(0, NOTE_CHARACTERS),
    }
    this.#push(entry)
    return entry
  }

  #push(entry: HistoryEntry): void {
    this.#lastId = entry.id
    this.#entries.push(entry)
    this.#characters += charactersOf(entry)
    while (this.#entries.length > CAPACITY || this.#characters > MAX_CHARACTERS)
      this.#characters -= charactersOf(this.#entries.shift()!)
  }
}
