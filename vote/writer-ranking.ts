// SPDX-License-Identifier: Apache-2.0

const MASK = 0xffff_ffff_ffff_ffffn

/** The finaliser of SplitMix64: any bit of the input flips about half of the output's bits. */
const mix = (value: bigint): bigint => {
  let z = (value + 0x9e37_79b9_7f4a_7c15n) & MASK
  z = ((z ^ (z >> 30n)) * 0xbf58_476d_1ce4_e5b9n) & MASK
  z = ((z ^ (z >> 27n)) * 0x94d0_49bb_1331_11ebn) & MASK
  return z ^ (z >> 31n)
}

/**
 * Rendezvous weights: each target has its own order of writers, and the death of one writer moves only the targets that it was
 * first for. The target's part is computed once: arithmetic with 64 bits is costly.
 */
const weightsFor = (target: bigint): ((writer: bigint) => bigint) => {
  const salt = mix(target)
  return writer => mix(writer ^ salt)
}

/** How many of the first in a target's order are kept: usually one of these may write. */
const FIRST = 4

/** The order of one target's writers. Members are roster indices. */
export interface TargetRanking {
  /** A bit for each member that comes before the own node: the lowest bit of the first byte is member 0. */
  readonly before: Uint8Array
  /** The first members, the very first at place 0: `FIRST` of them, or all. */
  readonly first: readonly number[]
}

/**
 * The orders of writers among all members of one roster, whether they may write at present or not. Each is computed when it
 * is first asked for and kept: with a thousand members it takes most of a millisecond, and a zone that lost many nodes asks
 * for hundreds, again and again.
 */
export class WriterRanking {
  readonly #ids: readonly bigint[]
  readonly #self: number
  readonly #known = new Map<bigint, TargetRanking>()

  /**
   * @param ids `id64` of each member's name
   * @param self index of the own node
   */
  constructor(ids: readonly bigint[], self: number) {
    this.#ids = ids
    this.#self = self
  }

  /** @param target `id64` of the name of a member, or of anything else that is written about */
  of(target: bigint): TargetRanking {
    const known = this.#known.get(target) ?? this.#rank(target)
    this.#known.set(target, known)
    return known
  }

  /** Whether a member comes before the own node; nothing is kept, so it is cheap where a few are looked at. */
  comparisonFor(target: bigint): (member: number) => boolean {
    const known = this.#known.get(target)
    if (known !== undefined) return member => isBefore(known, member)
    const weightOf = weightsFor(target)
    const own = weightOf(this.#ids[this.#self]!)
    return member => weightOf(this.#ids[member]!) > own
  }

  /** The first in the target's order of those who may write; undefined when nobody may. */
  firstOf(target: bigint, may: (member: number) => boolean): number | undefined {
    const kept = this.of(target).first.find(may)
    if (kept !== undefined) return kept
    const weightOf = weightsFor(target)
    let first: number | undefined
    let most = -1n
    for (const [member, id] of this.#ids.entries()) {
      const weight = may(member) ? weightOf(id) : -1n
      if (weight <= most) continue
      first = member
      most = weight
    }
    return first
  }

  #rank(target: bigint): TargetRanking {
    const weightOf = weightsFor(target)
    const weights = this.#ids.map(weightOf)
    const own = weights[this.#self]!
    const before = new Uint8Array((weights.length + 7) >> 3)
    const first: number[] = []
    weights.forEach((weight, member) => {
      if (weight > own) before[member >> 3]! |= 1 << (member & 7)
      if (first.length === FIRST && weight < weights[first.at(-1)!]!) return
      const place = first.findIndex(other => weight > weights[other]!)
      first.splice(place < 0 ? first.length : place, 0, member)
      first.splice(FIRST)
    })
    return { before, first }
  }
}

export const isBefore = ({ before }: TargetRanking, member: number): boolean =>
  (before[member >> 3]! & (1 << (member & 7))) !== 0
