// SPDX-License-Identifier: Apache-2.0
import { isSameObject, type EdgeRecord, type Held, type Place } from '../../model/record/held.js'
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
  /** What left as an answer since the last message about an object, by uid; of several states none is known to be the last. */
  readonly #answered = new Map<string, Held>()

  constructor(held: EdgeRecord, keeping: RecordKeeping) {
    this.#held = new Map(held)
    this.#keeping = keeping
  }

  get held(): EdgeRecord {
    return this.#held
  }

  /** These objects are about to be sent. Resolves when that is on disk; send nothing before. Never rejects. */
  async sending(objects: readonly (readonly [uid: string, held: Held])[]): Promise<void> {
    // This message leaves after all answers so far.
    for (const [uid] of objects) this.#answered.delete(uid)
    const news = objects.filter(([uid]) => this.#held.get(uid)?.version !== '0')
    for (const [uid, held] of news) noteSending(this.#held, uid, held)
    if (news.length > 0) await this.#keeping.save()
  }

  /**
   * This object is sent as the answer to a query. Not worth waiting for the disk: at worst a ConfigMap or Secret stays on
   * the edge. An answer may be older than what was sent while it was read: then the version is unknown from now on, even if
   * that message is still to be acknowledged.
   */
  answering(uid: string, held: Held): void {
    const known = this.#held.get(uid)
    if (known !== undefined && isSameObject(known, held)) return
    if (known?.version === '0') {
      const before = this.#answered.get(uid) ?? held
      this.#answered.set(uid, isSameObject(before, held) ? held : known)
      return
    }
    noteSending(this.#held, uid, held)
    void this.#keeping.save()
  }

  stored(uid: string, held: Held): void {
    const answered = this.#answered.get(uid)
    this.#answered.delete(uid)
    if (answered === undefined || isSameObject(answered, held)) noteStored(this.#held, uid, held)
    else noteSending(this.#held, uid, held)
    this.#keeping.saveSoon()
  }

  /** @returns uids of objects that have its name now and must be sent again */
  removed(uid: string, of: Place): readonly string[] {
    this.#answered.delete(uid)
    this.#keeping.saveSoon()
    return noteRemoved(this.#held, uid, of)
  }
}
