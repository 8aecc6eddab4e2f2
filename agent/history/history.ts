// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { StateFolder } from '../state-folder.js'
import { Signal } from '../store.js'
import { HistoryRing, type HistoryEntry, type NewEntry } from './ring.js'
import { parseHistory, saveHistory } from './saved.js'

interface HistorySeams {
  readonly clock: Clock
  readonly folder: Pick<StateFolder, 'read' | 'write'>
  readonly log: Logger
}

/** Changes within this time are saved by one write. */
const SETTLE_MS = 10_000
/** A zone in which nodes come and go all day must not wear out a memory card. */
const SAVE_EVERY_MS = 120_000

/** What happened lately, in memory and on disk. A crash loses at most the last two minutes of it. */
export class History {
  readonly added = new Signal<HistoryEntry>()
  readonly #seams: HistorySeams
  readonly #ring = new HistoryRing()
  /** Nothing is saved before this is true: what is on disk would be lost. */
  #isLoaded = false
  #savedAt = -Infinity
  #cancelSave: (() => void) | undefined

  constructor(seams: HistorySeams) {
    this.#seams = seams
  }

  /** Oldest first. */
  get entries(): readonly HistoryEntry[] {
    return this.#ring.entries
  }

  /** Of the newest entry; 0 before the first. */
  get lastId(): number {
    return this.#ring.lastId
  }

  /** Load what was saved on disk. Before that nothing is added. */
  async load(): Promise<void> {
    const { folder, log } = this.#seams
    const text = await folder.read('history.json')
    this.#isLoaded = true
    if (text === undefined) return
    try {
      this.#ring.restore(parseHistory(text, this.#now()))
    } catch (error) {
      log.warn('history on disk is not used', { error: reasonOf(error) })
    }
  }

  add(entry: NewEntry): void {
    if (!this.#isLoaded) return
    const { clock } = this.#seams
    const now = clock.now()
    const added = this.#ring.add(entry, now)
    const waitMs = Math.max(SETTLE_MS, this.#savedAt + SAVE_EVERY_MS - now)
    this.#cancelSave ??= clock.after(waitMs, () => void this.save())
    this.added.emit(added)
  }

  /** Write it now. Never rejects, as the folder does not. */
  async save(): Promise<void> {
    this.#cancelSave?.()
    this.#cancelSave = undefined
    if (!this.#isLoaded) return
    this.#savedAt = this.#seams.clock.now()
    await this.#seams.folder.write('history.json', saveHistory(this.entries, this.#now()))
  }

  #now(): { now: number; wall: number } {
    const { clock } = this.#seams
    return { now: clock.now(), wall: clock.wall() }
  }
}
