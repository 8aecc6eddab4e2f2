// SPDX-License-Identifier: Apache-2.0
import { knownOf, quartersAt, type Entry } from '../../identity/entries.js'
import type { MemberStatement, Taken } from '../../identity/member-statement.js'
import type { MemberEntry } from './member-entry.js'
import { TokenBucket } from './rate-limit.js'

/** Signatures proved for all members together, in a second and at once: 17 ms/s of CPU at most. */
const PROVED_PER_SECOND = 150
const PROVED_AT_ONCE = 300
/** Proving one signature takes as long as hashing the links of so many quarters of a second. */
const QUARTERS_PER_PROOF = 400

/** Of the message that an entry came with. */
export interface Arrival {
  /** `Clock.now` when it is taken in. */
  readonly now: number
  /** Milliseconds that it may have been under way at most: they are added to the ages in it. */
  readonly delayMs: number
}

type StatementEntry = Extract<Entry, { kind: 'statement' }>

/** Proves what peers pass on of members, within a limit of CPU time. */
export class Proofs {
  readonly #limit = new TokenBucket({ perSecond: PROVED_PER_SECOND, burst: PROVED_AT_ONCE })
  #proved = 0

  /** Signatures that were proved, good or bad. */
  get proved(): number {
    return this.#proved
  }

  /** Takes the cost of so many signatures out of the limit. @returns false where it is used up */
  afford(now: number, cost: number): boolean {
    return this.#limit.take(now, Math.max(0, cost))
  }

  /** @returns undefined where the limit is used up */
  prove(member: MemberEntry, entry: Entry, arrival: Arrival): Taken | undefined {
    return entry.kind === 'statement'
      ? this.#proveStatement(member, entry, arrival)
      : this.#proveProgress(member.latest, entry, arrival.now)
  }

  #proveStatement(
    { latest, limit }: MemberEntry,
    { received, progress, age }: StatementEntry,
    { now, delayMs }: Arrival,
  ): Taken | undefined {
    const isUnproved = latest.isUnproved(received)
    if (isUnproved && !limit.take(now)) return undefined
    const quarters = progress.quarters - (isUnproved ? 0 : latest.progress.quarters)
    if (!this.afford(now, (isUnproved ? 1 : 0) + quarters / QUARTERS_PER_PROOF)) return undefined
    if (isUnproved) this.#proved++
    return latest.takeStatement(received, progress, age + delayMs, now)
  }

  #proveProgress(
    latest: MemberStatement,
    entry: Exclude<Entry, StatementEntry>,
    now: number,
  ): Taken | undefined {
    const known = knownOf(latest)
    if (known === undefined) return undefined
    const quarters = quartersAt(known, entry.time)
    // A time alone counts within the slot that is proved.
    const { slot } = known.received.statement
    const isSameSlot = Math.floor(quarters / slot) === Math.floor(known.progress.quarters / slot)
    if (entry.kind === 'time' && !isSameSlot) return undefined
    const behind = quarters - known.progress.quarters
    if (!this.afford(now, behind / QUARTERS_PER_PROOF)) return undefined
    const link = entry.kind === 'link' ? entry.link : undefined
    return latest.takeProgress({ quarters, link }, now)
  }
}
