// SPDX-License-Identifier: Apache-2.0
import { knownOf, quartersAt, type Entry } from '../../identity/entries.js'
import type { MemberStatement, Taken } from '../../identity/member-statement.js'
import type { OwnStatement } from '../../identity/own-statement.js'
import type { MemberEntry } from './member-entry.js'
import type { ReceivedStatement, Statement } from '../../identity/statement.js'
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
/** A statement that costs more may not use the reserve: a signature and 1024 links cost 11.24. */
const MOST_RESERVED = 12
/** Proving one signature takes as long as hashing so many links. */
const LINKS_PER_PROOF = 100
/**
 * What is forged costs its peer so many times as much; the peer owes the rest. It is not ignored: members that know a stolen node
 * by different keys pass on what others must take for forged.
 */
const FORGED_FACTOR = 10

/** Of the message that an entry came with. */
export interface Arrival {
  /** Who passed it on. */
  readonly peer: Pick<PeerState, 'name' | 'proofLimits'>
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

/** What it costs to prove the links of so many quarters, in signatures. */
const linksCost = ({ slot }: Statement, quarters: number): number =>
  Math.max(0, quarters / slot / LINKS_PER_PROOF)

const isSameSlot = ({ statement }: ReceivedStatement, a: number, b: number): boolean =>
  Math.floor(a / statement.slot) === Math.floor(b / statement.slot)

/** What it costs to prove the links of a statement that is known already, up to so many quarters. */
const linksBehind = (
  { received, progress }: MemberStatement,
  { bytes, statement }: ReceivedStatement,
  quarters: number,
): number =>
  received?.bytes.equals(bytes) === true ? linksCost(statement, quarters - progress.quarters) : 0

/** Where what is proved of a member takes its cost from, beside the limit of all. */
interface Limits {
  readonly ofPeer: TokenBucket
  /** Undefined where the member speaks for itself. */
  readonly ofMember: TokenBucket | undefined
}

/**
 * Limits of the peer that passed it on: one for what it says of itself. What others pass on of a member has a limit in common,
 * too: whoever collected its earlier statements must not keep it from being heard when it speaks for itself.
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
  /** How much must be left in the limit of all. */
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

/** Proves what peers pass on of members, within a limit of CPU time. Many links come each second: they are kept cheap. */
export class Proofs {
  readonly #limit = new TokenBucket({ perSecond: PROVED_PER_SECOND, burst: PROVED_AT_ONCE })
  #proved = 0

  /** Signatures that were proved, good or bad. */
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
    // Forged or not: it is not looked at yet, so it takes nothing from the member's limit.
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
    // A time alone counts within the slot that is proved.
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
   * Its peer owes the rest of the price; the member pays nothing, and the limit of all what was proved. Behind a wrong signature no
   * link was looked at.
   */
  #forged({ ofPeer, ofMember }: Limits, cost: number, what: 'signature' | 'link'): void {
    const spent = what === 'signature' ? 1 : cost
    ofPeer.owe(FORGED_FACTOR * spent - cost)
    ofMember?.giveBack(cost)
    this.#limit.giveBack(cost - spent)
  }
}
