// SPDX-License-Identifier: Apache-2.0
import { jitter, type Random } from '../../../core/random.js'
import type { DesiredMarks } from '../../../plan/node-plan.js'
import { keepOnly } from '../../keep-only.js'

/** Who was looked at, or is somebody else's to look at, is asked about again after so long, or this per member if that is longer. */
const ASK_AGAIN_MS = 3_600_000
const ASK_AGAIN_MS_PER_MEMBER = 10_000
/** An order of writers costs a look at the whole zone. */
const ASKED_AT_ONCE = 10
/** Votes settle sooner than this; who is undecided for longer may carry a mark from before, which counts for the brake. */
const UNDECIDED_MS = 30_000

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
 * Which Nodes have to be read to know what marks they carry: no row tells that, and a whole Node is 15 kB. Who was judged
 * otherwise since we know the zone may carry marks that somebody wrote. Any other may carry what was left over from
 * before, or what somebody put there by hand: the first in its order of writers looks once, and about once an hour.
 */
export class UnknownNodes {
  readonly #random: Random
  readonly #desired = new Map<string, DesiredMarks>()
  readonly #moved = new Set<string>()
  /** Ours to look at. */
  readonly #ours = new Set<string>()
  /** Not before this is it asked whether a look is due. */
  readonly #askAt = new Map<string, number>()
  readonly #undecidedSince = new Map<string, number>()
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

  /** What the node should look like now. @returns whether that moved, so that what was known of it may be over */
  note(node: string, desired: DesiredMarks): boolean {
    if (desired === 'keep') return false
    const before = this.#desired.get(node)
    if (before === desired) return false
    this.#desired.set(node, desired)
    if (before === undefined && desired === 'healthy') return false
    this.#moved.add(node)
    return true
  }

  /** It was read, and looks as it should: now it is like those that never moved. */
  settled(node: string): void {
    this.#moved.delete(node)
    this.#ours.delete(node)
  }

  /** Whether a Node that was not read has to be read, by whoever's turn it is. */
  mustLook(node: string, desired: DesiredMarks): boolean {
    if (desired === 'keep') return false
    return this.#moved.has(node) || this.#ours.has(node) || this.#becomesOurs(node)
  }

  /** Whether what was read of a Node that should be healthy is so old that it is ours to look at again. */
  isOld(node: string, desired: DesiredMarks): boolean {
    return desired === 'healthy' && !this.#moved.has(node) && this.#becomesOurs(node)
  }

  /** Whether the zone has been of no opinion about the node for so long that its marks have to be known. */
  staysUndecided(node: string, isUndecided: boolean): boolean {
    const { now } = this.#look
    const since = isUndecided ? (this.#undecidedSince.get(node) ?? now) : undefined
    if (since === undefined) this.#undecidedSince.delete(node)
    else this.#undecidedSince.set(node, since)
    return since !== undefined && now >= since + UNDECIDED_MS
  }

  /** Forget who left. */
  keepOnly(isKept: (node: string) => boolean): void {
    keepOnly(this.#desired, isKept)
    keepOnly(this.#moved, isKept)
    keepOnly(this.#ours, isKept)
    keepOnly(this.#askAt, isKept)
    keepOnly(this.#undecidedSince, isKept)
  }

  #becomesOurs(node: string): boolean {
    const { now, size, isFirst } = this.#look
    if (this.#left === 0 || now < (this.#askAt.get(node) ?? -Infinity)) return false
    this.#left--
    const middleMs = Math.max(ASK_AGAIN_MS, ASK_AGAIN_MS_PER_MEMBER * size)
    this.#askAt.set(node, now + jitter(this.#random, middleMs, 0.3))
    if (!isFirst(node)) return false
    this.#ours.add(node)
    return true
  }
}
