// SPDX-License-Identifier: Apache-2.0
import { knownOf, quartersAt, type Entry } from '../../identity/entries.js'
import { KNOWN, type MemberStatement, type Taken } from '../../identity/member-statement.js'
import type { OwnStatement } from '../../identity/own-statement.js'
import type { MemberEntry } from './member-entry.js'
import type { ReceivedStatement, Statement } from '../../identity/statement.js'
import type { PeerState } from './peer-state.js'
import { TokenBucket } from './rate-limit.js'

/** Signatures verified for all members together: some 17 ms/s of CPU. */
const PROVED_PER_SECOND = 150
const LEAST_AT_ONCE = 300
/** When many nodes die together, nearly all others say something new within five seconds. 0.2 s of CPU with 1000 members. */
const AT_ONCE_PER_MEMBER = 2
/**
 * Tokens reserved for new statements that their own node sends, of which each member has few. Otherwise several members
 * that pass on false news of others could together keep a healthy member's statements from being verified.
 */
const RESERVED = 50
/** A statement that costs more may not use the reserve: a signature and 1024 links cost 11.24. */
const MOST_RESERVED = 12
/** Verifying one signature takes as long as hashing this many links. */
const LINKS_PER_PROOF = 100
/**
 * A forged entry costs its peer this many times as much; the peer owes the rest. The peer is not ignored: members that
 * know a stolen node by different keys pass on what others must take for forged.
 */
const FORGED_FACTOR = 10

/** The message that an entry came with. */
export interface Arrival {
  /** Who passed it on. */
  readonly peer: Pick<PeerState, 'name' | 'proofLimits'>
  /** `Clock.now` when it is taken in. */
  readonly now: number
  /** Most milliseconds that it may have been under way: added to the ages in it. */
  readonly delayMs: number
}

type StatementEntry = Extract<Entry, { kind: 'statement' }>

/** Whether the statement's chain reaches that time at all: checking this costs nothing. */
const isInChain = ({ statement }: ReceivedStatement, quarters: number): boolean =>
  Math.floor(quarters / statement.slot) <= 2 ** statement.logLinks

const WRONG_LINK: Taken = { kind: 'forged', reason: 'link' }

/** What it costs to verify the links of this many quarters, in signatures. */
const linksCost = ({ slot }: Statement, quarters: number): number =>
  Math.max(0, quarters / slot / LINKS_PER_PROOF)

const isSameSlot = ({ statement }: ReceivedStatement, a: number, b: number): boolean =>
  Math.floor(a / statement.slot) === Math.floor(b / statement.slot)

/** What it costs to verify the new links of a statement that is known already, up to this many quarters. */
const linksBehind = (
  { received, progress }: MemberStatement,
  { bytes, statement }: ReceivedStatement,
  quarters: number,
): number =>
  received?.bytes.equals(bytes) === true ? linksCost(statement, quarters - progress.quarters) : 0

/** The limits that verifying a member's entry is charged to, beside the overall limit. */
interface Limits {
  readonly ofPeer: TokenBucket
  /** Undefined where the member speaks for itself. */
  readonly ofMember: TokenBucket | undefined
}

/**
 * A peer has one limit for what it says of itself and one for what it passes on. What peers pass on of one member also
 * shares a limit of that member: replaying its earlier statements must not keep it from being heard for itself.
 */
const limitsOf = (
  { pin, relayedLimit }: MemberEntry,
  { name, proofLimits }: Arrival['peer'],
): Limits =>
  name === pin.node
    ? { ofPeer: proofLimits.own, ofMember: undefined }
    : { ofPeer: proofLimits.relayed, ofMember: relayedLimit }

interface Price {
  readonly now: number
  /** In signatures. */
  readonly cost: number
  /** How much must be left in the overall limit. */
  readonly reserve: number
}

/** From all of these limits, or from none. */
const takeAll = (
  { ofPeer, ofMember }: Limits,
  ofAll: TokenBucket,
  { now, cost, reserve }: Price,
): boolean => {
  if (!ofPeer.take(now, cost)) return false
  if (ofMember?.take(now, cost) !== false) {
    if (ofAll.take(now, cost, reserve)) return true
    ofMember?.giveBack(cost)
  }
  ofPeer.giveBack(cost)
  return false
}

/** Verifies what peers pass on of members, within a limit of CPU time. Many links come each second: they are kept cheap. */
export class Proofs {
  readonly #rate = { perSecond: PROVED_PER_SECOND, burst: LEAST_AT_ONCE }
  /** At first for `LEAST_AT_ONCE`: at the start all members are new, and V8 would not return the memory that this takes. */
  readonly #limit = new TokenBucket(this.#rate)
  #proved = 0

  constructor(zoneSize: number) {
    this.setZoneSize(zoneSize)
  }

  /** The zone has this many members now; what was used up of the limit stays so. */
  setZoneSize(members: number): void {
    this.#rate.burst = Math.max(LEAST_AT_ONCE, AT_ONCE_PER_MEMBER * members)
  }

  /** Signatures that were verified, good or bad. */
  get proved(): number {
    return this.#proved
  }

  /** @returns undefined where a limit is used up */
  prove(member: MemberEntry, entry: Entry, arrival: Arrival): Taken | undefined {
    return entry.kind === 'statement'
      ? this.#proveStatement(member, entry, arrival)
      : this.#proveProgress(member, entry, arrival)
  }

  #proveStatement(
    member: MemberEntry,
    { received, progress, age }: StatementEntry,
    { peer, now, delayMs }: Arrival,
  ): Taken | undefined {
    const { latest } = member
    const { quarters } = progress
    if (!isInChain(received, quarters)) return WRONG_LINK
    const isNew = latest.isUnproved(received)
    // Not verified, so perhaps forged: it takes nothing from the member's limit.
    if (isNew && latest.isEarly(received, now)) return { kind: 'early' }
    const cost = isNew
      ? 1 + linksCost(received.statement, quarters)
      : linksBehind(latest, received, quarters)
    const limits = limitsOf(member, peer)
    const mayUseReserve = isNew && limits.ofMember === undefined && cost <= MOST_RESERVED
    const reserve = mayUseReserve ? 0 : RESERVED
    if (!takeAll(limits, this.#limit, { now, cost, reserve })) return undefined
    if (isNew) this.#proved++
    const taken = latest.takeStatement(received, progress, age + delayMs, now)
    if (taken.kind === 'forged') this.#forged(limits, cost, taken.reason)
    return taken
  }

  #proveProgress(
    member: MemberEntry,
    entry: Exclude<Entry, StatementEntry>,
    { peer, now }: Arrival,
  ): Taken | undefined {
    const { latest } = member
    const known = knownOf(latest)
    if (known === undefined) return undefined
    const { received, progress } = known
    const quarters = quartersAt(known, entry.time)
    if (quarters <= progress.quarters) return KNOWN
    // A time without a link counts only within the slot that is proved already.
    if (entry.kind === 'time' && !isSameSlot(received, quarters, progress.quarters))
      return undefined
    if (!isInChain(received, quarters)) return WRONG_LINK
    const cost = linksCost(received.statement, quarters - progress.quarters)
    const limits = limitsOf(member, peer)
    if (!takeAll(limits, this.#limit, { now, cost, reserve: RESERVED })) return undefined
    const link = entry.kind === 'link' ? entry.link : undefined
    const taken = latest.takeProgress({ quarters, link }, now)
    if (taken.kind === 'forged') this.#forged(limits, cost, taken.reason)
    return taken
  }

  /** As `OwnStatement.refute`, within the limits: a peer passed on a statement in the own node's name. */
  refute(own: OwnStatement, shown: ReceivedStatement, arrival: Omit<Arrival, 'delayMs'>): boolean {
    const { now, peer } = arrival
    const limits = { ofPeer: peer.proofLimits.relayed, ofMember: undefined }
    if (!takeAll(limits, this.#limit, { now, cost: 1, reserve: RESERVED })) return false
    const isOurs = own.refute(shown)
    if (!isOurs) limits.ofPeer.owe(FORGED_FACTOR - 1)
    return isOurs
  }

  /**
   * The peer owes the rest of the price. The member's limit pays nothing, and the overall limit only what was verified:
   * after a wrong signature no link was checked.
   */
  #forged({ ofPeer, ofMember }: Limits, cost: number, what: 'signature' | 'link'): void {
    const spent = what === 'signature' ? 1 : cost
    ofPeer.owe(FORGED_FACTOR * spent - cost)
    ofMember?.giveBack(cost)
    this.#limit.giveBack(cost - spent)
  }
}
