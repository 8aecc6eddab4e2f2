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
  readonly peer: Pick<PeerState, 'name' | 'proofs'>
  /** `Clock.now` when it is taken in. */
  readonly now: number
  /** Milliseconds that it may have been under way at most: they are added to the ages in it. */
  readonly delayMs: number
}

type StatementEntry = Extract<Entry, { kind: 'statement' }>

/** What there is to prove of an entry. */
interface Task {
  /** In signatures. */
  readonly cost: number
  /** A signature has to be proved, not links alone. */
  readonly isNew: boolean
  readonly take: () => Taken
}

/** Whether the statement has a link of that time at all: it costs nothing to see. */
const isInChain = ({ statement }: ReceivedStatement, quarters: number): boolean =>
  Math.floor(quarters / statement.slot) <= 2 ** statement.logLinks

const WRONG_LINK: Taken = { kind: 'forged', reason: 'link' }

/** What it costs to prove the links of so many quarters, in signatures. */
const linksCost = ({ slot }: Statement, quarters: number): number =>
  Math.max(0, quarters / slot / LINKS_PER_PROOF)

const ofStatement = (
  latest: MemberStatement,
  { received, progress, age }: StatementEntry,
  { now, delayMs }: Arrival,
): Task | Taken => {
  const { quarters } = progress
  if (!isInChain(received, quarters)) return WRONG_LINK
  const take = (): Taken => latest.takeStatement(received, progress, age + delayMs, now)
  if (latest.isUnproved(received)) {
    // Forged or not: it is not looked at yet, so it takes nothing from the member's limit.
    if (latest.isEarly(received, now)) return { kind: 'early' }
    return { cost: 1 + linksCost(received.statement, quarters), isNew: true, take }
  }
  const known = knownOf(latest)
  const behind = known?.received.bytes.equals(received.bytes)
    ? quarters - known.progress.quarters
    : 0
  return { cost: linksCost(received.statement, behind), isNew: false, take }
}

const ofProgress = (
  latest: MemberStatement,
  entry: Exclude<Entry, StatementEntry>,
  { now }: Arrival,
): Task | Taken | undefined => {
  const known = knownOf(latest)
  if (known === undefined) return undefined
  const quarters = quartersAt(known, entry.time)
  // A time alone counts within the slot that is proved.
  const { statement } = known.received
  const { slot } = statement
  const isSameSlot = Math.floor(quarters / slot) === Math.floor(known.progress.quarters / slot)
  if (entry.kind === 'time' && !isSameSlot) return undefined
  if (!isInChain(known.received, quarters)) return WRONG_LINK
  const link = entry.kind === 'link' ? entry.link : undefined
  const cost = linksCost(statement, quarters - known.progress.quarters)
  return { cost, isNew: false, take: () => latest.takeProgress({ quarters, link }, now) }
}

/**
 * Limits of the peer that passed it on: one for what it says of itself. What others pass on of a member has a limit in common,
 * too: whoever collected its earlier statements must not keep it from being heard when it speaks for itself.
 */
const limitsOf = (
  { pin, relayed }: MemberEntry,
  { name, proofs }: Arrival['peer'],
): readonly TokenBucket[] => (name === pin.node ? [proofs.own] : [proofs.relayed, relayed])

interface Price {
  readonly now: number
  readonly cost: number
  /** How much must be left in the limit of all. */
  readonly reserve: number
}

/** From all of these limits, or from none. */
const takeAll = (
  [first, second]: readonly TokenBucket[],
  ofAll: TokenBucket,
  { now, cost, reserve }: Price,
): boolean => {
  if (!first!.take(now, cost)) return false
  if (second?.take(now, cost) !== false) {
    if (ofAll.take(now, cost, reserve)) return true
    second?.giveBack(cost)
  }
  first!.giveBack(cost)
  return false
}

/** Proves what peers pass on of members, within a limit of CPU time. */
export class Proofs {
  readonly #limit = new TokenBucket({ perSecond: PROVED_PER_SECOND, burst: PROVED_AT_ONCE })
  #proved = 0

  /** Signatures that were proved, good or bad. */
  get proved(): number {
    return this.#proved
  }

  /** @returns undefined where a limit is used up */
  prove(member: MemberEntry, entry: Entry, arrival: Arrival): Taken | undefined {
    const { latest } = member
    const task =
      entry.kind === 'statement'
        ? ofStatement(latest, entry, arrival)
        : ofProgress(latest, entry, arrival)
    if (task === undefined || 'kind' in task) return task
    if (!this.#afford(member, task, arrival)) return undefined
    if (task.isNew) this.#proved++
    const taken = task.take()
    if (taken.kind === 'forged') this.#forged(member, task, { peer: arrival.peer, taken })
    return taken
  }

  /** As `OwnStatement.refute`, within the limits: a peer passed on a statement in the own node's name. */
  refute(own: OwnStatement, shown: ReceivedStatement, arrival: Omit<Arrival, 'delayMs'>): boolean {
    const { now, peer } = arrival
    const { relayed } = peer.proofs
    if (!takeAll([relayed], this.#limit, { now, cost: 1, reserve: RESERVED })) return false
    const isOurs = own.refute(shown)
    if (!isOurs) relayed.owe(FORGED_FACTOR - 1)
    return isOurs
  }

  #afford(member: MemberEntry, { cost, isNew }: Task, { now, peer }: Arrival): boolean {
    const isOwn = peer.name === member.pin.node
    const reserve = isNew && isOwn && cost <= MOST_RESERVED ? 0 : RESERVED
    return takeAll(limitsOf(member, peer), this.#limit, { now, cost, reserve })
  }

  /**
   * Its peer owes the rest of the price; the member pays nothing, and the limit of all what was proved. Behind a wrong signature no
   * link was looked at.
   */
  #forged(
    member: MemberEntry,
    { cost }: Task,
    { peer, taken }: { readonly peer: Arrival['peer']; readonly taken: Taken & { kind: 'forged' } },
  ): void {
    const spent = taken.reason === 'signature' ? 1 : cost
    const [ofPeer, ofMember] = limitsOf(member, peer)
    ofPeer!.owe(FORGED_FACTOR * spent - cost)
    ofMember?.giveBack(cost)
    this.#limit.giveBack(cost - spent)
  }
}
