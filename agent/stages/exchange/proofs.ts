// SPDX-License-Identifier: Apache-2.0
import { knownOf, quartersAt, type Entry } from '../../identity/entries.js'
import type { MemberStatement, Taken } from '../../identity/member-statement.js'
import type { OwnStatement } from '../../identity/own-statement.js'
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
  /** A signature is among it. */
  readonly isNew: boolean
  readonly take: () => Taken
}

/** Whether the statement has a link of that time at all: it costs nothing to see. */
const isInChain = ({ statement }: ReceivedStatement, quarters: number): boolean =>
  Math.floor(quarters / statement.slot) <= 2 ** statement.logLinks

const WRONG_LINK: Taken = { kind: 'forged', reason: 'link' }

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
    return { cost: 1 + quarters / QUARTERS_PER_PROOF, isNew: true, take }
  }
  const known = knownOf(latest)
  const behind = known?.received.bytes.equals(received.bytes)
    ? quarters - known.progress.quarters
    : 0
  return { cost: Math.max(0, behind / QUARTERS_PER_PROOF), isNew: false, take }
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
  const { slot } = known.received.statement
  const isSameSlot = Math.floor(quarters / slot) === Math.floor(known.progress.quarters / slot)
  if (entry.kind === 'time' && !isSameSlot) return undefined
  if (!isInChain(known.received, quarters)) return WRONG_LINK
  const link = entry.kind === 'link' ? entry.link : undefined
  const cost = Math.max(0, (quarters - known.progress.quarters) / QUARTERS_PER_PROOF)
  return { cost, isNew: false, take: () => latest.takeProgress({ quarters, link }, now) }
}

/** The limit of who passed it on: for what it says of itself, and for the rest. */
const limitOf = ({ pin }: MemberEntry, { name, proofs }: Arrival['peer']): TokenBucket =>
  name === pin.node ? proofs.own : proofs.relayed

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
    if (taken.kind === 'forged') {
      limitOf(member, arrival.peer).owe((FORGED_FACTOR - 1) * task.cost)
      if (taken.reason === 'signature') member.limit.giveBack(1)
    }
    return taken
  }

  /** As `OwnStatement.refute`, within the limits: a peer passed on a statement in the own node's name. */
  refute(own: OwnStatement, shown: ReceivedStatement, arrival: Omit<Arrival, 'delayMs'>): boolean {
    const { now, peer } = arrival
    const { relayed } = peer.proofs
    if (!relayed.take(now) || !this.#limit.take(now, 1, RESERVED)) return false
    const isOurs = own.refute(shown)
    if (!isOurs) relayed.owe(FORGED_FACTOR - 1)
    return isOurs
  }

  /** In this order: a peer that has used up its own limit takes nothing from the member's, nor from that of all. */
  #afford(member: MemberEntry, { cost, isNew }: Task, { now, peer }: Arrival): boolean {
    if (!limitOf(member, peer).take(now, cost)) return false
    if (!isNew) return this.#limit.take(now, cost, RESERVED)
    // From both of these, or from neither.
    const mayUseReserve = peer.name === member.pin.node && cost <= MOST_RESERVED
    if (!this.#limit.take(now, cost, mayUseReserve ? 0 : RESERVED)) return false
    if (member.limit.take(now)) return true
    this.#limit.giveBack(cost)
    return false
  }
}
