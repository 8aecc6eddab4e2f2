// SPDX-License-Identifier: Apache-2.0
import { majoritySpokeAt } from './majority.js'
import { FLAG, type Evidence } from './evidence.js'
import type { Judgement } from './judgement.js'
import type { Moment } from './moment.js'
import type { VoteOptions } from './options.js'
import { VERDICT } from './quorum.js'
import { STANDING } from './tally.js'
import { isBefore, type WriterRanking } from './writer-ranking.js'

/** The node that is to be written about. */
export interface WriteTarget {
  /** Index in the roster; −1 for a node that has left it. */
  readonly index: number
  /** `id64` of its name. */
  readonly id: bigint
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
  ranking: WriterRanking,
): readonly number[] | undefined => {
  if (judgement.voice !== 'full' || !mayWrite(judgement, evidence, evidence.self, target.index))
    return undefined
  const order = ranking.of(target.id)
  const before: number[] = []
  for (let member = 0; member < evidence.size; member++)
    if (isBefore(order, member) && mayWrite(judgement, evidence, member, target.index))
      before.push(member)
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
  ranking: WriterRanking,
): number | undefined => membersBefore(judgement, evidence, target, ranking)?.length

/** The own node's rank among a target's writers. */
export interface WriterTurn {
  readonly rank: number
  /** How many of those before us are still heard: they write, or are refused as we would be. */
  readonly heard: number
}

/** A member is silent if its record is this many times as old as the majority's: zones exchange at different paces. */
const SILENT_FACTOR = 5
/** A writer that is heard but does not write is passed over after this many `writerStaggerMs`, the next after twice that. */
const SPEAKING_STAGGERS = 30
const MOST_DOUBLINGS = 10

type Turns = Moment & { readonly ranking: WriterRanking }

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
  const before = membersBefore(judgement, evidence, target, at.ranking)
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
  let oldest: number | undefined
  return target => {
    if (judgement.voice !== 'full' || !mayWrite(judgement, evidence, self, target.index))
      return false
    oldest ??= at.now - silentAfterMs(judgement, evidence, at)
    const comesBefore = at.ranking.comparisonFor(target.id)
    for (let member = 0; member < size; member++) {
      if (member === self || producedAt[member]! < oldest) continue
      if (comesBefore(member) && mayWrite(judgement, evidence, member, target.index)) return false
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

/** The first member in the target's order, whatever our own rank; undefined when nobody may write. */
export const topWriter = (
  judgement: Judgement,
  evidence: Evidence,
  { index, id }: WriteTarget,
  ranking: WriterRanking,
): number | undefined => ranking.firstOf(id, member => mayWrite(judgement, evidence, member, index))

/**
 * Who speaks for the zone as a whole: who did last, or else the first in the order of this id, of those whose records count and
 * are young, and who reach the apiserver. Unlike a writer it need be neither healthy nor reached from here: members learn that at
 * different moments, and then several would speak.
 */
export const zoneSpeaker = (
  judgement: Judgement,
  evidence: Evidence,
  id: bigint,
  at: Turns & { readonly last?: number | undefined },
): number | undefined => {
  const { flags, producedAt, self } = evidence
  const oldest = at.now - silentAfterMs(judgement, evidence, at)
  const maySpeak = (member: number): boolean =>
    judgement.standing[member] === STANDING.counts &&
    (flags[member]! & FLAG.cloudCut) === 0 &&
    (member === self || producedAt[member]! >= oldest)
  return at.last !== undefined && maySpeak(at.last) ? at.last : at.ranking.firstOf(id, maySpeak)
}
