// SPDX-License-Identifier: Apache-2.0
import type { Notice } from '../../model/lane/notice-queues.js'
import { isSameObject, type EdgeRecord, type Held, type Place } from '../../model/record/held.js'

/** What is sent to an edge about one object. */
export type ObjectMessage =
  | { readonly kind: 'update'; readonly held: Held; readonly text: string }
  /** The object is gone, or not for this node. */
  | { readonly kind: 'delete'; readonly of: Place }

const isAt = (held: Place, place: Place): boolean =>
  held.name === place.name && held.namespace === place.namespace && held.type === place.type

/** What an edge will hold once it has acknowledged everything that was sent: its record, and the messages on top of it. */
export class ExpectedObjects {
  readonly #record: { readonly held: EdgeRecord }
  /** The newest message about each object that the edge has not acknowledged, by uid. */
  readonly #pending = new Map<string, Notice<ObjectMessage>>()

  constructor(record: { readonly held: EdgeRecord }) {
    this.#record = record
  }

  /** By uid. */
  all(): EdgeRecord {
    const expected = new Map(this.#record.held)
    for (const [uid, { value }] of this.#pending)
      if (value.kind === 'update') expected.set(uid, value.held)
      else expected.delete(uid)
    return expected
  }

  /** Uids of the objects with this type and name. */
  uidsAt(place: Place): readonly string[] {
    const found: string[] = []
    for (const [uid, held] of this.#record.held)
      if (isAt(held, place) && !this.#pending.has(uid)) found.push(uid)
    for (const [uid, { value }] of this.#pending)
      if (value.kind === 'update' && isAt(value.held, place)) found.push(uid)
    return found
  }

  /** Whether the object has to be sent for the edge to hold this state of it. */
  differs(uid: string, wanted: Held): boolean {
    const { value } = this.#pending.get(uid) ?? {}
    if (value?.kind === 'delete') return true
    const held = value?.held ?? this.#record.held.get(uid)
    return held === undefined || !isSameObject(held, wanted)
  }

  /** Whether a message about the object is not acknowledged yet. */
  isPending(uid: string): boolean {
    return this.#pending.has(uid)
  }

  offered(notice: Notice<ObjectMessage>): void {
    this.#pending.set(notice.uid, notice)
  }

  acknowledged(notice: Notice<ObjectMessage>): void {
    if (this.#pending.get(notice.uid) === notice) this.#pending.delete(notice.uid)
  }
}
