// SPDX-License-Identifier: Apache-2.0
import { isMesh, upVoices } from './majority.js'
import { FLAG, type Evidence } from './evidence.js'
import { noteDeadline, makeNextDeadline } from './next-deadline.js'
import type { Judgement } from './judgement.js'
import type { Moment } from './moment.js'
import { decideAmongFew, quorumOf, VERDICT } from './quorum.js'
import { isFresh, STANDING } from './tally.js'

/**
 * Why a node is not vouched for, or no longer. The brake is not a reason: it holds back what does harm, and vouching does none;
 * its own conditions are stricter than a share of the zone could be.
 */
export type VouchEnd =
  | 'off'
  /** This agent may not decide, or no strict majority says up at present. */
  | 'no-quorum'
  | 'undecided'
  | 'condemned'
  | 'leaving'
  | 'own-record-old'
  | 'kubelet-bad'
  | 'kubelet-unknown'
  | 'link-back'
  | 'roster-left'

/** Since when this agent would vouch for each member; +Infinity: not at all. The caller owns it. */
export interface Vouching {
  readonly since: Float64Array
}

export const makeVouching = (size: number): Vouching => ({
  since: new Float64Array(size).fill(Infinity),
})

/** Whether the member is vouched for. */
export const isVouched = (v: Vouching, index: number): boolean => v.since[index] !== Infinity

/** Carry over to a changed roster. `left` are the old places of vouched members that are gone: `roster-left`. */
export const remapVouching = (
  v: Vouching,
  oldIndexOf: Int32Array,
): { readonly vouching: Vouching; readonly left: readonly number[] } => {
  const vouching = makeVouching(oldIndexOf.length)
  oldIndexOf.forEach((from, to) => {
    if (from >= 0) vouching.since[to] = v.since[from]!
  })
  const kept = new Set(oldIndexOf)
  const left: number[] = []
  v.since.forEach((since, index) => {
    if (since !== Infinity && !kept.has(index)) left.push(index)
  })
  return { vouching, left }
}

/**
 * Whether the node's own word about itself counts. What has begun does not end because its agent is warming up: it has not
 * probed others yet, but it says how its node is.
 */
const speaks = (judgement: Judgement, target: number, hasBegun: boolean): boolean => {
  const standing = judgement.standing[target]
  return standing === STANDING.counts || (hasBegun && standing === STANDING.warming)
}

/**
 * Strict majority of the roster, by the votes that count at this moment and the node's own record; never the witness. In a
 * zone of rings, where only a few observe each node, the larger side of those few is enough, since this agent may decide only
 * while it hears a majority. Somebody other than the node must always say up.
 */
const hasMajority = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  hasBegun: boolean,
): boolean => {
  if (judgement.voice !== 'full' || evidence.size === 1 || judgement.up[target] === 0) return false
  if (!speaks(judgement, target, hasBegun)) return false
  if (!isMesh(evidence, target))
    return decideAmongFew(judgement.up[target]!, judgement.down[target]!) === VERDICT.healthy
  const ownWord = judgement.standing[target] === STANDING.warming ? 1 : 0
  return upVoices(judgement, evidence, target) + ownWord >= quorumOf(evidence.size)
}

/** What in the node's own record speaks against vouching. */
const ownWordAgainst = (flags: number): VouchEnd | undefined => {
  if ((flags & FLAG.leaving) !== 0) return 'leaving'
  if ((flags & FLAG.kubeletBad) !== 0) return 'kubelet-bad'
  if ((flags & FLAG.kubeletWell) === 0) return 'kubelet-unknown'
  return (flags & FLAG.cloudCut) === 0 ? 'link-back' : undefined
}

/** Why the node cannot be vouched for at `now`, or, where that has begun, no longer; undefined when it can. */
export const vouchRefusal = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  { now, options, hasBegun = false }: Moment & { readonly hasBegun?: boolean },
): VouchEnd | undefined => {
  if (options.vouch === 'off') return 'off'
  if (judgement.voice !== 'full') return 'no-quorum'
  if (judgement.verdict[target] === VERDICT.unhealthy) return 'condemned'
  if (!isFresh(judgement, target) || now >= evidence.producedAt[target]! + options.vouchFreshMs)
    return 'own-record-old'
  const against = ownWordAgainst(evidence.flags[target]!)
  if (against !== undefined) return against
  if (!hasMajority(judgement, evidence, target, hasBegun)) return 'no-quorum'
  return judgement.verdict[target] === VERDICT.undecided ? 'undecided' : undefined
}

/** What one review of the vouching changed. */
export interface VouchChanges {
  readonly begun: readonly number[]
  readonly ended: readonly { readonly index: number; readonly why: VouchEnd }[]
  /** When time alone may end one; +Infinity if none. */
  readonly nextAt: number
}

/**
 * Decide for whom to vouch; call after each `judge`. Vouching begins only with a final `healthy` verdict, which had its hold and
 * its component quorum. It ends at once when a condition fails, since the control plane's own grace follows the last renewal.
 */
export const reviewVouching = (
  v: Vouching,
  judgement: Judgement,
  evidence: Evidence,
  at: Moment,
): VouchChanges => {
  const deadline = makeNextDeadline(at)
  const begunAt = { ...at, hasBegun: true }
  const begun: number[] = []
  const ended: { index: number; why: VouchEnd }[] = []
  for (let index = 0; index < evidence.size; index++) {
    const why = vouchRefusal(judgement, evidence, index, isVouched(v, index) ? begunAt : at)
    if (why === undefined) {
      noteDeadline(deadline, evidence.producedAt[index]! + at.options.vouchFreshMs)
      if (isVouched(v, index)) continue
      v.since[index] = at.now
      begun.push(index)
    } else if (isVouched(v, index)) {
      v.since[index] = Infinity
      ended.push({ index, why })
    }
  }
  return { begun, ended, nextAt: deadline.nextAt }
}
