// SPDX-License-Identifier: Apache-2.0
import type { EdgeRecord, Held, Place } from '../../model/record/held.js'
import { noteRemoved, noteSending, noteStored } from '../../model/record/note.js'

/** What becomes of a record that changed. */
export interface RecordKeeping {
  /** Keep it on disk; resolves when it is there, or when that failed and was reported. Never rejects. */
  save(): Promise<void>
  /** Keep it some time soon. */
  saveSoon(): void
}

/** What one edge holds, as far as is known, while the edge is connected. */
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

  /** These are about to be sent. Resolves when that is written down, and not before they may leave. Never rejects. */
  async sending(objects: readonly (readonly [uid: string, held: Held])[]): Promise<void> {
    const news = objects.filter(([uid]) => this.#held.get(uid)?.version !== '0')
    for (const [uid, held] of news) noteSending(this.#held, uid, held)
    if (news.length > 0) await this.#keeping.save()
  }

  /** It leaves as the answer to a question: a ConfigMap or Secret that may stay there is no reason to wait. */
  answering(uid: string, held: Held): void {
    noteSending(this.#held, uid, held)
    void this.#keeping.save()
  }

  stored(uid: string, held: Held): void {
    noteStored(this.#held, uid, held)
    this.#keeping.saveSoon()
  }

  /** @returns uids of what has its name now, and must be sent again */
  removed(uid: string, of: Place): readonly string[] {
    this.#keeping.saveSoon()
    return noteRemoved(this.#held, uid, of)
  }
}
