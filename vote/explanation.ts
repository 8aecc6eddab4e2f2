// SPDX-License-Identifier: Apache-2.0
import { isMesh, presentVoices, upVoices } from './majority.js'
import { brakeLimit, graceEndsAt, isHeld } from './verdicts.js'
import { FLAG, type Evidence, type Vote } from './evidence.js'
import { CLASSES, type Judgement, type NodeClass } from './judgement.js'
import type { Moment } from './moment.js'
import { quorumOf, VERDICT, VERDICTS, type Verdict } from './quorum.js'
import { isFresh, upsCountSince } from './tally.js'
import type { WitnessVote } from './witness.js'

/** Why a vote does not count. */
export type Uncounted =
  | 'self-suspect'
  | 'warming'
  | 'leaving'
  | 'gone'
  | 'silent-since-failure'
  | 'unheard'
  | 'not-reaffirmed'
  | 'not-looked'

/** What one voter says about the node. */
export interface VoterSays {
  readonly voter: number
  readonly says: Vote
  /** Age of its newest record; +Infinity when it was never heard. */
  readonly ageMs: number
  /** Undefined when the vote counts. */
  readonly uncounted: Uncounted | undefined
}

/** What keeps a verdict from being reached, from becoming final, or the agent from deciding at all. */
export type Guard =
  | { readonly kind: 'no-quorum'; readonly have: number; readonly need: number }
  | { readonly kind: 'component-quorum'; readonly have: number; readonly need: number }
  | { readonly kind: 'hold'; readonly until: number }
  | { readonly kind: 'brake'; readonly unhealthy: number; readonly limit: number }
  | { readonly kind: 'minority'; readonly have: number; readonly need: number }
  | { readonly kind: 'self-suspect' }
  | { readonly kind: 'warming' }
  | { readonly kind: 'zone-of-two' }
  /** `until` is when a leaving node's grace ends; undefined when it is the own agent that leaves and decides no more. */
  | { readonly kind: 'leaving'; readonly until: number | undefined }
  | { readonly kind: 'witness'; readonly vote: WitnessVote }
  /** This many "up" votes are older than the contest and do not count until they are repeated. */
  | { readonly kind: 'reaffirm'; readonly votes: number; readonly since: number }

/** What this agent knows about one node, for people and for the writer. Built on demand. */
export interface Explanation {
  readonly index: number
  readonly isSelf: boolean
  readonly local: 'up' | 'down'
  /** When the local view last changed; −Infinity if never. */
  readonly localAt: number
  /** Final, or undecided. */
  readonly verdict: Verdict
  /** When it became final; +Infinity while there is none. */
  readonly verdictAt: number
  /** The verdict that the votes ask for, and since when; undecided and +Infinity when there is none. */
  readonly pending: Verdict
  readonly pendingAt: number
  readonly class: NodeClass
  readonly classSince: number
  /** Since when the node has no link to the apiserver, as it says itself; −Infinity when it has one, or is not heard. */
  readonly cloudCutAt: number
  readonly down: number
  readonly up: number
  /** Voters whose votes would count, but who could not probe the node. */
  readonly notLooked: number
  /** How many equal votes decide. */
  readonly needed: number
  /** Size of the roster. */
  readonly members: number
  readonly voters: readonly VoterSays[]
  readonly guards: readonly Guard[]
}

const WHY: readonly (Uncounted | undefined)[] = [
  undefined,
  'self-suspect',
  'warming',
  'leaving',
  'gone',
  'silent-since-failure',
  'unheard',
]

const voteOf = (evidence: Evidence, voter: number, target: number): Vote => {
  if (evidence.saysDown(voter, target)) return 'down'
  return evidence.hasLooked(voter, target) ? 'up' : 'not-looked'
}

const whyNot = (says: Vote, isOld: boolean): Uncounted | undefined => {
  if (says === 'not-looked') return 'not-looked'
  return says === 'up' && isOld ? 'not-reaffirmed' : undefined
}

const votersOf = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  at: Moment,
): VoterSays[] => {
  const sinceAt = upsCountSince(judgement, target, at)
  return Array.from(evidence.observersOf(target), voter => {
    const producedAt = evidence.producedAt[voter]!
    const says = voteOf(evidence, voter, target)
    const uncounted = WHY[judgement.standing[voter]!] ?? whyNot(says, producedAt < sinceAt)
    return { voter, says, ageMs: at.now - producedAt, uncounted }
  })
}

/** Why the agent itself may not decide. */
const voiceGuards = (judgement: Judgement, evidence: Evidence): Guard[] => {
  if (judgement.voice === 'full') return []
  if (judgement.voice === 'leaving') return [{ kind: 'leaving', until: undefined }]
  if (judgement.voice !== 'minority') return [{ kind: judgement.voice }]
  return [
    { kind: 'minority', have: presentVoices(judgement, evidence), need: quorumOf(evidence.size) },
  ]
}

const spokenSince = (judgement: Judgement, evidence: Evidence, since: number): number => {
  let have = 0
  for (let member = 0; member < evidence.size; member++)
    if (isFresh(judgement, member) && evidence.producedAt[member]! > since) have++
  return have
}

/** Why a pending verdict is not final yet. */
const pendingGuards = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  at: Moment,
): Guard[] => {
  if (judgement.pending[target] === VERDICT.undecided) return []
  if (judgement.backedAt[target] === Infinity) {
    const have = spokenSince(judgement, evidence, judgement.pendingAt[target]!)
    return [{ kind: 'component-quorum', have, need: quorumOf(evidence.size) }]
  }
  // The brake holds back condemnations only. Other verdicts become final at the next judging after their hold.
  const isBraked = judgement.brake && judgement.pending[target] === VERDICT.unhealthy
  if (isBraked && isHeld(judgement, target, at))
    return [
      { kind: 'brake', unhealthy: judgement.dead, limit: brakeLimit(evidence.size, at.options) },
    ]
  return [{ kind: 'hold', until: judgement.backedAt[target]! + at.options.writeHoldMs }]
}

/** Why the votes do not suffice. Shown only while nothing is decided, or somebody says down. */
const voteGuards = (
  judgement: Judgement,
  evidence: Evidence,
  target: number,
  at: Moment,
): Guard[] => {
  const guards: Guard[] = []
  const down = judgement.down[target]!
  const isOpen = judgement.verdict[target] === VERDICT.undecided || down > 0
  if (!isOpen || judgement.pending[target] !== VERDICT.undecided) return guards
  const need = neededFor(evidence, target)
  const have = Math.max(
    down,
    judgement.verdict[target] === VERDICT.undecided ? upVoices(judgement, evidence, target) : 0,
  )
  if (have < need) guards.push({ kind: 'no-quorum', have, need })
  const graceAt = graceEndsAt(judgement, evidence, target, at.options)
  if (down > 0 && at.now < graceAt) guards.push({ kind: 'leaving', until: graceAt })
  return guards
}

/** A zone of two cannot decide by itself, so the witness's vote is always shown. */
const twoGuards = (judgement: Judgement, evidence: Evidence, target: number): Guard[] => {
  if (evidence.size !== 2 || judgement.down[target] === 0) return []
  return judgement.witness === 'absent'
    ? [{ kind: 'zone-of-two' }]
    : [{ kind: 'witness', vote: judgement.witness }]
}

const reaffirmGuards = (
  judgement: Judgement,
  target: number,
  voters: readonly VoterSays[],
): Guard[] => {
  const votes = voters.filter(voter => voter.uncounted === 'not-reaffirmed').length
  return votes === 0 ? [] : [{ kind: 'reaffirm', votes, since: judgement.contestAt[target]! }]
}

const neededFor = (evidence: Evidence, target: number): number =>
  isMesh(evidence, target) ? quorumOf(evidence.size) : 2

/** Explain one member's state as of the last judging. */
export const explanationOf = (
  judgement: Judgement,
  evidence: Evidence,
  index: number,
  at: Moment,
): Explanation => {
  const voters = votersOf(judgement, evidence, index, at)
  const isCut = isFresh(judgement, index) && (evidence.flags[index]! & FLAG.cloudCut) !== 0
  return {
    index,
    isSelf: index === evidence.self,
    local: judgement.localUp[index] === 1 ? 'up' : 'down',
    localAt: judgement.localAt[index]!,
    verdict: VERDICTS[judgement.verdict[index]!]!,
    verdictAt: judgement.verdictAt[index]!,
    pending: VERDICTS[judgement.pending[index]!]!,
    pendingAt: judgement.pendingAt[index]!,
    class: CLASSES[judgement.nodeClass[index]!]!,
    classSince: judgement.classAt[index]!,
    cloudCutAt: isCut ? evidence.cloudCutAt[index]! : -Infinity,
    down: judgement.down[index]!,
    up: upVoices(judgement, evidence, index),
    notLooked: voters.filter(({ uncounted }) => uncounted === 'not-looked').length,
    needed: neededFor(evidence, index),
    members: evidence.size,
    voters,
    guards: [
      ...voiceGuards(judgement, evidence),
      ...pendingGuards(judgement, evidence, index, at),
      ...voteGuards(judgement, evidence, index, at),
      ...twoGuards(judgement, evidence, index),
      ...reaffirmGuards(judgement, index, voters),
    ],
  }
}
