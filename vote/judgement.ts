// SPDX-License-Identifier: Apache-2.0
import { VERDICT } from './quorum.js'
import type { WitnessVote } from './witness.js'

/** What is wrong with a node. */
export type NodeClass =
  'undecided' | 'healthy' | 'dead' | 'kubelet-sick' | 'cloud-link-cut' | 'zone-link-cut'

/** The names of the class codes, by code. */
export const CLASSES: readonly NodeClass[] = [
  'undecided',
  'healthy',
  'dead',
  'kubelet-sick',
  'cloud-link-cut',
  'zone-link-cut',
]

/** How much of the zone looks dead from here: at most the brake's limit, more, or everybody else. */
export type Disruption = 'normal' | 'partial' | 'full'

/** Whether this agent may decide, or why not. */
export type Voice = 'full' | 'self-suspect' | 'warming' | 'leaving' | 'minority'

/**
 * What the judge remembers, as columns over the roster. The caller owns it and hands it to every call of `judge`,
 * which is the only writer. Instants are `Clock.now`; +Infinity means "not so at present".
 */
export interface Judgement {
  readonly size: number
  /** 1: the node can be reached from here, by the rules of the local view. What `/localinfo` says. */
  readonly localUp: Uint8Array
  /** When the local view last changed; −Infinity if never. */
  readonly localAt: Float64Array
  /** `VERDICT` codes of final verdicts; those that are not final yet are in `pending`. */
  readonly verdict: Uint8Array
  /** When the verdict became final: votes, component quorum and hold were all there. */
  readonly verdictAt: Float64Array
  /** The verdict that the votes ask for and that has not become final: a `VERDICT` code, undecided for none. */
  readonly pending: Uint8Array
  readonly pendingAt: Float64Array
  /** When the pending verdict first had its component quorum; the hold runs from then. */
  readonly backedAt: Float64Array
  /** When the last `--leave-grace` of a node that was missed began; −Infinity if never. */
  readonly graceBeganAt: Float64Array
  /** Places in `CLASSES`, and since when. */
  readonly nodeClass: Uint8Array
  readonly classAt: Float64Array
  /** `STANDING` codes: whether each member's votes count at present, or why not. */
  readonly standing: Uint8Array
  /** Counted votes of each node's observers. */
  readonly up: Uint16Array
  readonly down: Uint16Array
  /** 1: the node's own counted record is one vote for itself, as proof that it lives. Never a vote against. */
  readonly ownWord: Uint8Array
  /** Since when at least two known votes say that the node is down. */
  readonly contestAt: Float64Array
  /** Since when the own probes say that the node is down. */
  readonly ownDownAt: Float64Array
  /** Memory for sorting; meaningless between calls. */
  readonly scratch: Float64Array
  /** Own targets that had a first round, and those of them that are down. */
  ownTargets: number
  ownDowns: number
  selfSuspect: boolean
  correlatedFailure: boolean
  correlatedFailureAt: number
  voice: Voice
  witness: WitnessVote
  /** How many nodes are condemned or about to be, or are marked without a decision of this agent. */
  dead: number
  /** More are dead than the limit allows: no further condemnation becomes final. */
  brake: boolean
  disruption: Disruption
}

const filled = (size: number, value: number): Float64Array => new Float64Array(size).fill(value)

/** A judgement without knowledge: all members are shown as up, nothing is decided. */
export const makeJudgement = (size: number): Judgement => ({
  size,
  localUp: new Uint8Array(size).fill(1),
  localAt: filled(size, -Infinity),
  verdict: new Uint8Array(size),
  verdictAt: filled(size, Infinity),
  pending: new Uint8Array(size),
  pendingAt: filled(size, Infinity),
  backedAt: filled(size, Infinity),
  graceBeganAt: filled(size, -Infinity),
  nodeClass: new Uint8Array(size),
  classAt: filled(size, -Infinity),
  standing: new Uint8Array(size),
  up: new Uint16Array(size),
  down: new Uint16Array(size),
  ownWord: new Uint8Array(size),
  contestAt: filled(size, Infinity),
  ownDownAt: filled(size, Infinity),
  scratch: new Float64Array(size),
  ownTargets: 0,
  ownDowns: 0,
  selfSuspect: false,
  correlatedFailure: false,
  correlatedFailureAt: Infinity,
  voice: 'minority',
  witness: 'absent',
  dead: 0,
  brake: false,
  disruption: 'normal',
})

const KEPT = [
  'localUp',
  'localAt',
  'verdict',
  'verdictAt',
  'pending',
  'pendingAt',
  'backedAt',
  'graceBeganAt',
  'nodeClass',
  'classAt',
  'contestAt',
  'ownDownAt',
] as const

/**
 * Carry a judgement over to a changed roster. `oldIndexOf[i]` is the old index of member i, −1 for a new one. What was known
 * about members that stay is kept, also their running holds; the next `judge` counts anew.
 */
export const remapJudgement = (judgement: Judgement, oldIndexOf: Int32Array): Judgement => {
  const next = makeJudgement(oldIndexOf.length)
  oldIndexOf.forEach((from, to) => {
    if (from >= 0) for (const column of KEPT) next[column][to] = judgement[column][from]!
  })
  next.selfSuspect = judgement.selfSuspect
  next.correlatedFailure = judgement.correlatedFailure
  next.correlatedFailureAt = judgement.correlatedFailureAt
  return next
}

/** Forget the pending verdict. */
export const dropPending = (judgement: Judgement, index: number): void => {
  judgement.pending[index] = VERDICT.undecided
  judgement.pendingAt[index] = Infinity
  judgement.backedAt[index] = Infinity
}
