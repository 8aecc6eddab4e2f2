// SPDX-License-Identifier: Apache-2.0
import type { EdgeRecord, Held, Place } from '../../model/record/held.js'
import { noteRemoved, noteSending, noteStored } from '../../model/record/note.js'

/** Stores a record that changed. */
export interface RecordKeeping {
  /** Store it now; resolves when it is on disk, or when that failed and was logged. Never rejects. */
  save(): Promise<void>
  /** Store it soon. */
  saveSoon(): void
}

/** What a connected edge holds, as far as is known. */
export class NodeRecord {
  readonly #held: Map<string, Held>
  readonly #keeping: RecordKeeping

  constructor(held: EdgeRecord, keeping: RecordKeeping) {
    this.#held = new Map(held)
    this.#keeping = keeping
  }

  get held(): EdgeRecord {
    return this.#held
  }

  /** These objects are about to be sent. Resolves when that is on disk; send nothing before. Never rejects. */
  async sending(objects: readonly (readonly [uid: string, held: Held])[]): Promise<void> {
    const news = objects.filter(([uid]) => this.#held.get(uid)?.version !== '0')
    for (const [uid, held] of news) noteSending(this.#held, uid, held)
    if (news.length > 0) await this.#keeping.save()
  }

  /**
   * This object is sent as the answer to a query. Not worth waiting for the disk: at worst a ConfigMap or Secret stays on
   * the edge.
   */
  answering(uid: string, held: Held): void {
    noteSending(this.#held, uid, held)
    void this.#keeping.save()
  }

  stored(uid: string, held: Held): void {
    noteStored(this.#held, uid, held)
    this.#keeping.saveSoon()
  }

  /** @returns uids of objects that have its name now and must be sent again */
  removed(uid: string, of: Place): readonly string[] {
    this.#keeping.saveSoon()
    return noteRemoved(this.#held, uid, of)
  }
}
