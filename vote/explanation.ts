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
  /** So many "up"s were said before the contest began and are not believed until said again. */
  | { readonly kind: 'reaffirm'; readonly votes: number; readonly since: number }

/** What this agent knows about one node, for people and for the writer. Built on demand. */
export interface Explanation {
  readonly index: number
  readonly isSelf: boolean
  readonly local: 'up' | 'down'
  /** When the local view last moved; −Infinity if never. */
  readonly localAt: number
  /** Final, or undecided. */
  readonly verdict: Verdict
  /** When it became final; +Infinity while there is none. */
  readonly verdictAt: number
  /** What the votes ask for and since when; undecided and +Infinity for nothing. */
  readonly pending: Verdict
  readonly pendingAt: number
  readonly class: NodeClass
  readonly classSince: number
  /** Since when the node has no link to the apiserver, by its own word; −Infinity when it has, or is not heard. */
  readonly cloudCutAt: number
  readonly down: number
  readonly up: number
  /** Voters whose word would count, and who could not look at the node. */
  readonly notLooked: number
  /** Equal votes that decide. */
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

const voteOf = (e: Evidence, voter: number, target: number): Vote => {
  if (e.saysDown(voter, target)) return 'down'
  return e.hasLooked(voter, target) ? 'up' : 'not-looked'
}

const whyNot = (says: Vote, isOld: boolean): Uncounted | undefined => {
  if (says === 'not-looked') return 'not-looked'
  return says === 'up' && isOld ? 'not-reaffirmed' : undefined
}

const votersOf = (j: Judgement, e: Evidence, target: number, at: Moment): VoterSays[] => {
  const sinceAt = upsCountSince(j, target, at)
  return Array.from(e.observersOf(target), voter => {
    const producedAt = e.producedAt[voter]!
    const says = voteOf(e, voter, target)
    const uncounted = WHY[j.standing[voter]!] ?? whyNot(says, producedAt < sinceAt)
    return { voter, says, ageMs: at.now - producedAt, uncounted }
  })
}

/** Guards of an agent that may not decide. */
const voiceGuards = (j: Judgement, e: Evidence): Guard[] => {
  if (j.voice === 'full') return []
  if (j.voice === 'leaving') return [{ kind: 'leaving', until: undefined }]
  if (j.voice !== 'minority') return [{ kind: j.voice }]
  return [{ kind: 'minority', have: presentVoices(j, e), need: quorumOf(e.size) }]
}

const spokenSince = (j: Judgement, e: Evidence, since: number): number => {
  let have = 0
  for (let member = 0; member < e.size; member++)
    if (isFresh(j, member) && e.producedAt[member]! > since) have++
  return have
}

/** Guards of a verdict that is on its way. */
const pendingGuards = (j: Judgement, e: Evidence, target: number, at: Moment): Guard[] => {
  if (j.pending[target] === VERDICT.undecided) return []
  if (j.backedAt[target] === Infinity) {
    const have = spokenSince(j, e, j.pendingAt[target]!)
    return [{ kind: 'component-quorum', have, need: quorumOf(e.size) }]
  }
  // The brake holds condemnations only; a hold that is over without it becomes final at the next judging.
  const isBraked = j.brake && j.pending[target] === VERDICT.unhealthy
  if (isBraked && isHeld(j, target, at))
    return [{ kind: 'brake', unhealthy: j.dead, limit: brakeLimit(e.size, at.options) }]
  return [{ kind: 'hold', until: j.backedAt[target]! + at.options.writeHoldMs }]
}

/** Guards of votes that do not suffice. Asked only while nothing is decided, or somebody says down. */
const voteGuards = (j: Judgement, e: Evidence, target: number, at: Moment): Guard[] => {
  const guards: Guard[] = []
  const down = j.down[target]!
  const isOpen = j.verdict[target] === VERDICT.undecided || down > 0
  if (!isOpen || j.pending[target] !== VERDICT.undecided) return guards
  const need = neededFor(e, target)
  const have = Math.max(down, j.verdict[target] === VERDICT.undecided ? upVoices(j, e, target) : 0)
  if (have < need) guards.push({ kind: 'no-quorum', have, need })
  const graceAt = graceEndsAt(e, target, at.options)
  if (down > 0 && at.now < graceAt) guards.push({ kind: 'leaving', until: graceAt })
  return guards
}

/** A zone of two cannot decide by itself; what the third party says is always worth showing. */
const twoGuards = (j: Judgement, e: Evidence, target: number): Guard[] => {
  if (e.size !== 2 || j.down[target] === 0) return []
  return j.witness === 'absent' ? [{ kind: 'zone-of-two' }] : [{ kind: 'witness', vote: j.witness }]
}

const reaffirmGuards = (j: Judgement, target: number, voters: readonly VoterSays[]): Guard[] => {
  const votes = voters.filter(voter => voter.uncounted === 'not-reaffirmed').length
  return votes === 0 ? [] : [{ kind: 'reaffirm', votes, since: j.contestAt[target]! }]
}

const neededFor = (e: Evidence, target: number): number =>
  isMesh(e, target) ? quorumOf(e.size) : 2

/** Everything there is to say about one member, as of the last judging. */
export const explanationOf = (
  j: Judgement,
  e: Evidence,
  index: number,
  at: Moment,
): Explanation => {
  const voters = votersOf(j, e, index, at)
  const isCut = isFresh(j, index) && (e.flags[index]! & FLAG.cloudCut) !== 0
  return {
    index,
    isSelf: index === e.self,
    local: j.localUp[index] === 1 ? 'up' : 'down',
    localAt: j.localAt[index]!,
    verdict: VERDICTS[j.verdict[index]!]!,
    verdictAt: j.verdictAt[index]!,
    pending: VERDICTS[j.pending[index]!]!,
    pendingAt: j.pendingAt[index]!,
    class: CLASSES[j.nodeClass[index]!]!,
    classSince: j.classAt[index]!,
    cloudCutAt: isCut ? e.cloudCutAt[index]! : -Infinity,
    down: j.down[index]!,
    up: upVoices(j, e, index),
    notLooked: voters.filter(({ uncounted }) => uncounted === 'not-looked').length,
    needed: neededFor(e, index),
    members: e.size,
    voters,
    guards: [
      ...voiceGuards(j, e),
      ...pendingGuards(j, e, index, at),
      ...voteGuards(j, e, index, at),
      ...twoGuards(j, e, index),
      ...reaffirmGuards(j, index, voters),
    ],
  }
}
