// SPDX-License-Identifier: Apache-2.0
import { knownOf, quartersAt, type Entry } from '../../identity/entries.js'
import type { MemberStatement, Taken } from '../../identity/member-statement.js'
import type { MemberEntry } from './member-entry.js'
import type { ReceivedStatement } from '../../identity/statement.js'
import type { PeerState } from './peer-state.js'
import { TokenBucket } from './rate-limit.js'

/** Signatures proved for all members together, in a second and at once: some 17 ms/s of CPU. */
const PROVED_PER_SECOND = 150
const PROVED_AT_ONCE = 300
/**
 * Tokens reserved for new statements that their own node sends, of which each member has few. Otherwise several members that
 * pass on wrong news of others together could keep what a healthy one says from being proved.
 */
const RESERVED = 50
/** What such a statement costs at most: more than its signature and half a minute of links pays like all others. */
const MOST_RESERVED = 1.3
/** Proving one signature takes as long as hashing the links of so many quarters of a second. */
const QUARTERS_PER_PROOF = 400

/** Of the message that an entry came with. */
export interface Arrival {
  /** Who passed it on. */
  readonly peer: Pick<PeerState, 'name' | 'proofs'>
  /** `Clock.now` when it is taken in. */
  readonly now: number
  /** Milliseconds that it may have been under way at most: they are added to the ages in it. */
  readonly delayMs: number
}

type StatementEntry = Extract<Entry, { kind: 'statement' }>

/** Whether the statement has a link of that time at all: it costs nothing to see. */
const isInChain = ({ statement }: ReceivedStatement, quarters: number): boolean =>
  Math.floor(quarters / statement.slot) <= 2 ** statement.logLinks

const WRONG_LINK: Taken = { kind: 'forged', reason: 'link' }

/** Proves what peers pass on of members, within a limit of CPU time. */
export class Proofs {
  readonly #limit = new TokenBucket({ perSecond: PROVED_PER_SECOND, burst: PROVED_AT_ONCE })
  #proved = 0

  /** Signatures that were proved, good or bad. */
  get proved(): number {
    return this.#proved
  }

  /** Takes the cost of so many signatures out of the limits, the peer's and that of all. @returns false where one is used up */
  afford(cost: number, { now, peer }: Pick<Arrival, 'now' | 'peer'>): boolean {
    const tokens = Math.max(0, cost)
    return peer.proofs.take(now, tokens) && this.#limit.take(now, tokens, RESERVED)
  }

  /** @returns undefined where the limit is used up */
  prove(member: MemberEntry, entry: Entry, arrival: Arrival): Taken | undefined {
    return entry.kind === 'statement'
      ? this.#proveStatement(member, entry, arrival)
      : this.#proveProgress(member.latest, entry, arrival)
  }

  /** A new statement takes from its member's limit and from that of all, or from neither. */
  #affordNew({ limit, pin }: MemberEntry, cost: number, { now, peer }: Arrival): boolean {
    const mayUseReserve = peer.name === pin.node && cost <= MOST_RESERVED
    if (!this.#limit.take(now, cost, mayUseReserve ? 0 : RESERVED)) return false
    if (limit.take(now)) return true
    this.#limit.giveBack(cost)
    return false
  }

  #proveStatement(
    member: MemberEntry,
    { received, progress, age }: StatementEntry,
    arrival: Arrival,
  ): Taken | undefined {
    if (!isInChain(received, progress.quarters)) return WRONG_LINK
    const { latest } = member
    const { now, delayMs, peer } = arrival
    const isUnproved = latest.isUnproved(received)
    // Forged or not: it is not looked at yet, so it takes nothing from the member's limit.
    if (isUnproved && latest.isEarly(received, now)) return { kind: 'early' }
    const quarters = progress.quarters - (isUnproved ? 0 : latest.progress.quarters)
    const cost = Math.max(0, (isUnproved ? 1 : 0) + quarters / QUARTERS_PER_PROOF)
    // In this order: a peer that has used up its own limit takes nothing from the member's, nor from that of all.
    if (!peer.proofs.take(now, cost)) return undefined
    const isAfforded = isUnproved
      ? this.#affordNew(member, cost, arrival)
      : this.#limit.take(now, cost, RESERVED)
    if (!isAfforded) return undefined
    if (isUnproved) this.#proved++
    return latest.takeStatement(received, progress, age + delayMs, now)
  }

  #proveProgress(
    latest: MemberStatement,
    entry: Exclude<Entry, StatementEntry>,
    arrival: Arrival,
  ): Taken | undefined {
    const known = knownOf(latest)
    if (known === undefined) return undefined
    const quarters = quartersAt(known, entry.time)
    // A time alone counts within the slot that is proved.
    const { slot } = known.received.statement
    const isSameSlot = Math.floor(quarters / slot) === Math.floor(known.progress.quarters / slot)
    if (entry.kind === 'time' && !isSameSlot) return undefined
    const behind = quarters - known.progress.quarters
    if (!isInChain(known.received, quarters)) return WRONG_LINK
    if (!this.afford(behind / QUARTERS_PER_PROOF, arrival)) return undefined
    const link = entry.kind === 'link' ? entry.link : undefined
    return latest.takeProgress({ quarters, link }, arrival.now)
  }
}
