// SPDX-License-Identifier: Apache-2.0

/** Why a message was not believed. Nothing of a refused message reaches the table. */
export type Refusal =
  | 'too-fast'
  | 'too-large'
  | 'malformed'
  | 'wrong-version'
  | 'wrong-zone'
  | 'unknown-key'
  | 'bad-signature'
  /** Sent by ourselves, or in our name. */
  | 'own-id'
  | 'unknown-sender'
  /** Its sender has no identity that we know. */
  | 'no-identity'
  /** Signed with the zone's key alone, though its sender has an identity, or must have one here. */
  | 'unsigned'
  /** Passed on in the name of a member that did not sign it, or not with the keys that we know. */
  | 'bad-statement'
  /** Passed on as a member's sign of life, but does not belong to the statement of that member that we know. */
  | 'bad-link'
  /** Passed on although it names more nodes than the zone can have. */
  | 'long-statement'
  /** Not meant for this incarnation of this receiver. This and the next three are answered with a challenge. */
  | 'challenged'
  /** Under way for longer than its sender waits for an answer. */
  | 'late'
  /** Its sender held our number for longer than our clock ran since we issued it. */
  | 'ahead'
  /** Its number was used before. */
  | 'replayed'
  /** A reply that does not answer our request. */
  | 'wrong-reply'
  /** A SuperEdge result of a member that spoke our own protocol. */
  | 'superseded'
  /** A SuperEdge result of a member that our own probes do not reach. */
  | 'unreached'

/** The HTTP status of the answer, whose body is the refusal's name. */
export const STATUS_OF: Readonly<Record<Refusal, number>> = {
  'too-fast': 429,
  'too-large': 413,
  malformed: 400,
  'wrong-version': 400,
  'wrong-zone': 421,
  'unknown-key': 403,
  'bad-signature': 403,
  'own-id': 403,
  'unknown-sender': 403,
  'no-identity': 403,
  unsigned: 403,
  'bad-statement': 200,
  'bad-link': 200,
  'long-statement': 200,
  challenged: 409,
  late: 409,
  ahead: 409,
  replayed: 409,
  'wrong-reply': 400,
  superseded: 200,
  unreached: 200,
}

/** Every kind of refusal. */
export const REFUSALS = Object.keys(STATUS_OF) as readonly Refusal[]

/** Refusals by kind, counted since start; a kind that never happened is absent. */
export class RefusalCounts {
  /** Undefined until something is refused: of a thousand peers most never are. */
  #counts: Map<Refusal, number> | undefined

  /** @returns how often this kind has happened, this time included. */
  add(refusal: Refusal): number {
    const counts = (this.#counts ??= new Map<Refusal, number>())
    const count = (counts.get(refusal) ?? 0) + 1
    counts.set(refusal, count)
    return count
  }

  /** A copy. */
  show(): Readonly<Partial<Record<Refusal, number>>> {
    return Object.fromEntries(this.#counts ?? [])
  }
}
