// SPDX-License-Identifier: Apache-2.0
import { majoritySpokeAt } from './majority.js'
import { FLAG, type Evidence } from './evidence.js'
import type { Judgement } from './judgement.js'
import type { Moment } from './moment.js'
import type { VoteOptions } from './options.js'
import { VERDICT } from './quorum.js'
import { STANDING } from './tally.js'

/** The node that is to be written about. */
export interface WriteTarget {
  /** Index in the roster; −1 for a node that has left it. */
  readonly index: number
  /** `id64` of its name. */
  readonly id: bigint
}

const MASK = 0xffff_ffff_ffff_ffffn

/** The finaliser of SplitMix64: any bit of the input moves about half of the output's. */
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

/**
 * Whether a member may write about the target: its record counts, it reaches the apiserver, we can reach it, it is not
 * condemned, and it is not the target. A member alone in its zone writes about nobody: it has no majority about others, and its
 * kubelet's Lease already tells about itself.
 */
export const mayWrite = (
  judgement: Judgement,
  evidence: Evidence,
  member: number,
  target: number,
): boolean =>
  evidence.size > 1 &&
  judgement.standing[member] === STANDING.counts &&
  (evidence.flags[member]! & FLAG.cloudCut) === 0 &&
  judgement.localUp[member] === 1 &&
  judgement.verdict[member] !== VERDICT.unhealthy &&
  member !== target

/** The fit members that come before the own node in the target's order. */
const membersBefore = (
  judgement: Judgement,
  evidence: Evidence,
  target: WriteTarget,
  ids: readonly bigint[],
): readonly number[] | undefined => {
  if (judgement.voice !== 'full' || !mayWrite(judgement, evidence, evidence.self, target.index))
    return undefined
  const weightOf = weightsFor(target.id)
  const own = weightOf(ids[evidence.self]!)
  const before: number[] = []
  for (let member = 0; member < evidence.size; member++) {
    if (member === evidence.self || !mayWrite(judgement, evidence, member, target.index)) continue
    if (weightOf(ids[member]!) > own) before.push(member)
  }
  return before
}

/**
 * How many fit members come before the own node in the target's order: 0 writes at once, the others stand by.
 * Undefined when the own node may not write at all. Agents with equal evidence agree without talking. If their evidence
 * differs, two may write the same, and the later one finds nothing left to change.
 */
export const writerRank = (
  judgement: Judgement,
  evidence: Evidence,
  target: WriteTarget,
  ids: readonly bigint[],
): number | undefined => membersBefore(judgement, evidence, target, ids)?.length

/** The own node's rank among a target's writers. */
export interface WriterTurn {
  readonly rank: number
  /** How many of those before us are still heard: they write, or are refused as we would be. */
  readonly heard: number
}

/** A member whose record is so many times as old as the majority's is silent. Relative, since zones exchange at different paces. */
const SILENT_FACTOR = 5
/** A writer that is heard but does not write is passed over after so many times `writerStaggerMs`, the next after twice that. */
const SPEAKING_STAGGERS = 30
const MOST_DOUBLINGS = 10

type Turns = Moment & { readonly ids: readonly bigint[] }

/** From which age of its record on a member is silent. */
const silentAfterMs = (
  judgement: Judgement,
  evidence: Evidence,
  { now, options }: Moment,
): number =>
  SILENT_FACTOR * (now - majoritySpokeAt(judgement, evidence)) + options.writerStaggerMs / 2

/**
 * Whose turn it is to write about the target. A writer that dies between decision and write is noticed by its silence:
 * its record grows old while those of the majority stay young.
 */
export const writerTurn = (
  judgement: Judgement,
  evidence: Evidence,
  target: WriteTarget,
  at: Turns,
): WriterTurn | undefined => {
  const before = membersBefore(judgement, evidence, target, at.ids)
  if (before === undefined) return undefined
  const oldest = at.now - silentAfterMs(judgement, evidence, at)
  const heard = before.filter(member => evidence.producedAt[member]! >= oldest).length
  return { rank: before.length, heard }
}

/**
 * Whether it is our turn to write about a target and no writer before us is heard, for many targets at one instant. The same as
 * `heard` of `writerTurn` being 0, but it stops at the first that is heard, so that a large zone costs little.
 */
export const firstWriter = (
  judgement: Judgement,
  evidence: Evidence,
  at: Turns,
): ((target: WriteTarget) => boolean) => {
  const { self, producedAt, size } = evidence
  const { ids } = at
  let oldest: number | undefined
  return target => {
    if (judgement.voice !== 'full' || !mayWrite(judgement, evidence, self, target.index))
      return false
    oldest ??= at.now - silentAfterMs(judgement, evidence, at)
    const weightOf = weightsFor(target.id)
    const own = weightOf(ids[self]!)
    for (let member = 0; member < size; member++) {
      if (member === self || producedAt[member]! < oldest) continue
      if (weightOf(ids[member]!) > own && mayWrite(judgement, evidence, member, target.index))
        return false
    }
    return true
  }
}

/** When a writer may write what has been wanted since `since`, if nobody has written it by then. */
export const writeAt = (
  since: number,
  { rank, heard }: WriterTurn,
  options: VoteOptions,
): number =>
  heard === 0
    ? since + rank * options.writerStaggerMs
    : since + SPEAKING_STAGGERS * options.writerStaggerMs * 2 ** Math.min(MOST_DOUBLINGS, heard - 1)

/** Who writes about a target. */
export interface WriterOrder {
  /** The first member in the target's order; undefined when nobody may write. */
  readonly top: number | undefined
  /** As `writerRank`. */
  readonly rank: number | undefined
}

/** Both at once: the weights of a thousand members take most of a millisecond. */
export const writerOrder = (
  judgement: Judgement,
  evidence: Evidence,
  target: WriteTarget,
  ids: readonly bigint[],
): WriterOrder => {
  const { self, size } = evidence
  const weightOf = weightsFor(target.id)
  const isOurs = judgement.voice === 'full' && mayWrite(judgement, evidence, self, target.index)
  const own = weightOf(ids[self]!)
  let top: number | undefined
  let most = -1n
  let rank = 0
  for (let member = 0; member < size; member++) {
    if (!mayWrite(judgement, evidence, member, target.index)) continue
    const weight = member === self ? own : weightOf(ids[member]!)
    if (weight > own) rank++
    if (weight <= most) continue
    top = member
    most = weight
  }
  return { top, rank: isOurs ? rank : undefined }
}

/** The first member in the target's order, whatever our own rank; undefined when nobody may write. */
export const topWriter = (
  judgement: Judgement,
  evidence: Evidence,
  target: WriteTarget,
  ids: readonly bigint[],
): number | undefined => writerOrder(judgement, evidence, target, ids).top
