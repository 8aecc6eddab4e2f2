// SPDX-License-Identifier: Apache-2.0
import { jitter, type Random } from '../../../core/random.js'
import type { DesiredMarks } from '../../../plan/node-plan.js'
import { keepOnly } from '../../keep-only.js'

/** A Node that was read, or that another agent has to read, is due again after this time, or this per member if longer. */
const ASK_AGAIN_MS = 7_200_000
const ASK_AGAIN_MS_PER_MEMBER = 10_000
/** At most this many in one look: computing the order of writers for a node takes a pass over the whole zone. */
const ASKED_AT_ONCE = 40
/** Votes settle sooner than this; a node that is undecided for longer may carry an old mark, which counts for the brake. */
const UNDECIDED_MS = 30_000
/** For this long after one agent finds a node healthy, another one may still call it dead, with its write under way. */
const LATE_MS = 20_000
/**
 * For this long after a node is healthy again, every agent stands by to read it, each in its turn, since nobody knows
 * whether the first in the order has read it. Later each agent checks this often whether it has become the first itself.
 */
const STANDBY_MS = 300_000
const CHECK_TURN_MS = 60_000
/** Pause when there was no room to ask about a node. */
const ASK_SOON_MS = 500

/** The zone at one look at all of its members. */
interface Look {
  /** `Clock.now`. */
  readonly now: number
  /** Members. */
  readonly size: number
  /** Whether nobody comes before us in the order of writers about a node. */
  readonly isFirst: (node: string) => boolean
}

/**
 * Which Nodes have to be read to know what marks they carry: rows of lists do not show marks, and a whole Node is 15 kB.
 * - A node that was not healthy at some time since this agent knows the zone may carry marks; so may one that was undecided
 *   for a moment, since other agents may have had a verdict. The first in its order of writers reads it when it is healthy
 *   again, and once more when the last late write must have landed.
 * - Any other node may carry marks from before, or put there by hand: the first in the order reads it once, and then about
 *   every two hours.
 */
export class UnknownNodes {
  readonly #random: Random
  readonly #desired = new Map<string, DesiredMarks>()
  /** When the wanted state of each node last changed. */
  readonly #moved = new Map<string, number>()
  /** Nodes that this agent has to read. */
  readonly #ours = new Set<string>()
  /** Nodes that were not healthy all the time: until when late writes may land; +Infinity while not healthy. */
  readonly #lateUntil = new Map<string, number>()
  /** Earliest time of the next check whether a read is due. */
  readonly #askAt = new Map<string, number>()
  readonly #undecidedSince = new Map<string, number>()
  /** Healthy nodes about which there is nothing to do until they are due. */
  readonly #resting = new Set<string>()
  #look: Look = { now: 0, size: 0, isFirst: () => false }
  #left = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** A new look at all members begins. */
  begin(look: Look): void {
    this.#look = look
    this.#left = ASKED_AT_ONCE
  }

  /** Whether there was room in this look for every Node that was due. */
  get isCaughtUp(): boolean {
    return this.#left > 0
  }

  /** What the node should look like now. @returns whether that changed, so that what was known of it may be stale */
  note(node: string, desired: DesiredMarks): boolean {
    const before = this.#desired.get(node)
    if (desired !== 'healthy') this.#resting.delete(node)
    if (before !== undefined || desired !== 'keep') this.#noteDoubt(node, desired)
    if (desired === 'keep' || before === desired) return false
    this.#desired.set(node, desired)
    if (before === undefined && desired === 'healthy') return false
    this.#moved.set(node, this.#look.now)
    return true
  }

  /** This look found nothing to do about a healthy node: the next ones leave it out until it is due. */
  rest(node: string): void {
    this.#resting.add(node)
  }

  /** Whether there is nothing to do about this node, if it is healthy now. */
  rests(node: string): boolean {
    return this.#resting.has(node) && this.#look.now < (this.#askAt.get(node) ?? -Infinity)
  }

  /** It was read and is as it should be: from now on it counts as always healthy. */
  settled(node: string): void {
    this.#moved.delete(node)
    this.#ours.delete(node)
  }

  /** Whether a Node that was not read has to be read, whichever agent does it. */
  mustLook(node: string, desired: DesiredMarks): boolean {
    if (desired === 'keep') return false
    if (desired !== 'healthy') return this.#moved.has(node)
    const standsBy = this.#look.now < (this.#moved.get(node) ?? -Infinity) + STANDBY_MS
    return this.#becomesOurs(node) || this.#ours.has(node) || standsBy
  }

  /** Whether this agent has to read a Node again that should be healthy: it was read long ago, or too soon after a doubt. */
  isOld(node: string, desired: DesiredMarks): boolean {
    return desired === 'healthy' && this.#becomesOurs(node)
  }

  /** When to ask again about those who were in doubt; +Infinity when nobody was. */
  askAt(): number {
    let askAt = Infinity
    for (const [node, lateUntil] of this.#lateUntil)
      if (lateUntil < Infinity) askAt = Math.min(askAt, this.#askAt.get(node) ?? -Infinity)
    return Math.max(askAt, this.#look.now + ASK_SOON_MS)
  }

  /** Whether the node has been undecided for so long that its marks have to be known. */
  staysUndecided(node: string, isUndecided: boolean): boolean {
    const { now } = this.#look
    const since = isUndecided ? (this.#undecidedSince.get(node) ?? now) : undefined
    if (since === undefined) this.#undecidedSince.delete(node)
    else this.#undecidedSince.set(node, since)
    return since !== undefined && now >= since + UNDECIDED_MS
  }

  /** Forget nodes that left the zone. */
  keepOnly(isKept: (node: string) => boolean): void {
    keepOnly(this.#desired, isKept)
    keepOnly(this.#moved, isKept)
    keepOnly(this.#ours, isKept)
    keepOnly(this.#lateUntil, isKept)
    keepOnly(this.#askAt, isKept)
    keepOnly(this.#undecidedSince, isKept)
    keepOnly(this.#resting, isKept)
  }

  #noteDoubt(node: string, desired: DesiredMarks): void {
    const { now } = this.#look
    if (desired !== 'healthy') this.#lateUntil.set(node, Infinity)
    else if (this.#lateUntil.get(node) === Infinity) {
      this.#lateUntil.set(node, now + LATE_MS)
      // A node that comes and goes is read no more often than that.
      if ((this.#askAt.get(node) ?? now) > now + LATE_MS) this.#askAt.set(node, now)
    }
  }

  #becomesOurs(node: string): boolean {
    const { now, size, isFirst } = this.#look
    if (this.#left === 0 || now < (this.#askAt.get(node) ?? -Infinity)) return false
    this.#left--
    const lateUntil = this.#lateUntil.get(node) ?? -Infinity
    const isLate = now >= lateUntil
    if (isLate) this.#lateUntil.delete(node)
    const middleMs = Math.max(ASK_AGAIN_MS, ASK_AGAIN_MS_PER_MEMBER * size)
    const againMs = this.#moved.has(node) ? CHECK_TURN_MS : middleMs
    this.#askAt.set(node, isLate ? now + jitter(this.#random, againMs, 0.3) : lateUntil)
    if (!isFirst(node)) return false
    this.#ours.add(node)
    this.#resting.delete(node)
    return true
  }
}
