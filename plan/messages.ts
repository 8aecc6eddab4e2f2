// SPDX-License-Identifier: Apache-2.0
import { UNREACHABLE_TAINT } from '../core/marks.js'
import { listed } from '../core/text.js'
import type { Guard, Explanation, Uncounted, VoterSays } from '../vote/explanation.js'
import type { DesiredMarks } from './node-plan.js'
import type { TaintBackoff } from './taint-backoff.js'
import type { VouchEnd } from '../vote/vouch.js'

/** Longest note of an Event that Kubernetes accepts, in characters. */
export const NOTE_LIMIT = 1024
/** How many names an Event lists. */
export const MOST_NAMES = 8

/** What turns indices into names, and instants into lengths of time. */
export interface Wording {
  readonly nameOf: (index: number) => string
  readonly now: number
}

/** Cut to NOTE_LIMIT; an ellipsis shows that something is missing. */
export const shorten = (text: string): string =>
  text.length <= NOTE_LIMIT ? text : `${text.slice(0, NOTE_LIMIT - 1)}…`

/** A length of time as people say it: `0.4 s`, `42 s`, `7 min`, `3 h`. */
export const span = (ms: number): string => {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

const since = (at: number, w: Wording): string =>
  Number.isFinite(at) ? ` for ${span(w.now - at)}` : ''

/** `1 node`, `3 nodes`. */
export const count = (n: number, one: string): string => `${n} ${one}${n === 1 ? '' : 's'}`

const counted = (explanation: Explanation, says: 'down' | 'up', w: Wording): string => {
  const voters = explanation.voters.filter(v => v.says === says && v.uncounted === undefined)
  return voters.length === 0
    ? ''
    : ` (${listed(
        voters.map(({ voter }) => w.nameOf(voter)),
        MOST_NAMES,
      )})`
}

/** Who voted what: `3 of 5 members say down (b, c, d), 0 say up; 3 needed`. */
export const describeVotes = (explanation: Explanation, w: Wording): string =>
  `${explanation.down} of ${count(explanation.members, 'member')} say down${counted(explanation, 'down', w)}, ` +
  `${explanation.up} say up${counted(explanation, 'up', w)}` +
  `${explanation.notLooked > 0 ? `, ${explanation.notLooked} could not look` : ''}; ${explanation.needed} needed`

/** The sentence for a condition, an annotation or an Event, by what the node is about to be. */
export const messageFor = (desired: DesiredMarks, explanation: Explanation, w: Wording): string => {
  const votes = describeVotes(explanation, w)
  const cut = since(explanation.cloudCutAt, w)
  switch (desired) {
    case 'dead':
      return shorten(`most peers cannot reach this node: ${votes}`)
    case 'kubelet-sick':
      return shorten(`the node's own agent says that its kubelet is not well: ${votes}`)
    case 'vouched':
      return shorten(
        `peers reach this node and its kubelet is well, only its link to the apiserver is cut${cut}: ${votes}`,
      )
    case 'healthy':
      return shorten(`most peers reach this node: ${votes}`)
    case 'left':
      return 'this node is not among the nodes that judge each other here'
    case 'keep':
      return shorten(`nothing is decided: ${votes}`)
  }
}

const UNCOUNTED: Readonly<Record<Uncounted, string>> = {
  'self-suspect': 'it suspects its own probes',
  warming: 'it has not finished its first round',
  leaving: 'it is shutting down',
  gone: 'too old',
  'silent-since-failure': 'silent since much of the zone went quiet',
  unheard: 'never heard',
  'not-reaffirmed': 'said before the node was contested, and not again',
  'not-looked': 'it has not looked, could not, or the node flapped',
}

/** Why a vote does not count, in a few words. */
export const describeUncounted = (why: Uncounted): string => UNCOUNTED[why]

/** One voter's line of `explain`. */
export const describeVoter = (voter: VoterSays, w: Wording): string => {
  if (voter.uncounted === 'unheard') return `${w.nameOf(voter.voter)}: never heard`
  const why = voter.uncounted === undefined ? '' : `; not counted: ${UNCOUNTED[voter.uncounted]}`
  const says = voter.says === 'not-looked' ? 'says neither' : `says ${voter.says}`
  return `${w.nameOf(voter.voter)} ${says}, ${span(voter.ageMs)} ago${why}`
}

const WITNESS = {
  absent: 'this zone has none',
  abstains: 'gives no answer, so it does not count',
  'with-us': 'answers here, so it counts as a third voter on our side',
  up: "sees the peer's Lease being renewed, so it votes up",
  down: "sees that the peer's Lease has stopped, so it votes down",
} as const

const PLAIN = {
  'self-suspect': 'this agent suspects its own probes, so it decides nothing',
  warming: 'this agent has not finished its first round, so it decides nothing',
  'zone-of-two': 'a zone of two cannot tell which side is dead, and it has no witness',
} as const

type PlainGuard = Extract<Guard, { kind: keyof typeof PLAIN }>

const isPlain = (guard: Guard): guard is PlainGuard => guard.kind in PLAIN

/** Why nothing (more) happens, as one sentence. */
export const describeGuard = (guard: Guard, w: Wording): string => {
  if (isPlain(guard)) return PLAIN[guard.kind]
  switch (guard.kind) {
    case 'no-quorum':
      return `no quorum: ${guard.have} of ${guard.need} needed votes`
    case 'component-quorum':
      return `waiting for a majority that speaks after the votes turned: ${guard.have} of ${guard.need}`
    case 'hold':
      return `waits another ${span(guard.until - w.now)} of --write-hold before it becomes final`
    case 'brake':
      return `brake: ${count(guard.unhealthy, 'node')} look dead, at most ${guard.limit} may be condemned`
    case 'minority':
      return `this agent hears ${guard.have} of the ${guard.need} members that it needs, so it decides nothing`
    case 'leaving':
      return guard.until === undefined
        ? 'this agent is shutting down, so it decides nothing'
        : `the node said that it leaves: not condemned for another ${span(guard.until - w.now)}`
    case 'witness':
      return `witness: ${WITNESS[guard.vote]}`
    case 'reaffirm':
      return `${count(guard.votes, 'vote')} for up older than the contest (${span(w.now - guard.since)}) not believed`
  }
}

const CLASS = {
  undecided: 'undecided',
  healthy: 'healthy',
  dead: 'dead: most peers cannot reach it',
  'kubelet-sick': 'its kubelet is sick, by its own word, and most peers see it down',
  'cloud-link-cut': 'alive; only its own link to the apiserver is cut',
  'zone-link-cut': "alive; the whole zone's link to the apiserver is cut",
} as const

/** The lines of `explain` about one node: what it is, since when, who says so, and which guard holds. */
export const describeNode = (explanation: Explanation, w: Wording): readonly string[] => {
  const pending =
    explanation.pending === 'undecided'
      ? []
      : [`on its way to ${explanation.pending}${since(explanation.pendingAt, w)}`]
  return [
    `${w.nameOf(explanation.index)}: ${CLASS[explanation.class]}${since(explanation.classSince, w)}`,
    `verdict ${explanation.verdict}${since(explanation.verdictAt, w)}: ${describeVotes(explanation, w)}`,
    ...pending,
    `seen from here: ${explanation.local}${since(explanation.localAt, w)}`,
    ...explanation.voters.map(voter => describeVoter(voter, w)),
    ...explanation.guards.map(guard => describeGuard(guard, w)),
  ]
}

/** Why vouching ended, or does not begin, as half a sentence. */
export const describeVouchEnd = (why: VouchEnd): string => {
  const words: Readonly<Record<VouchEnd, string>> = {
    off: 'vouching is switched off',
    'no-quorum': 'no majority says up any more',
    undecided: 'nothing is decided about the node',
    condemned: 'the node is condemned',
    leaving: 'the node is shutting its agent down',
    'own-record-old': 'the node has not been heard for too long',
    'kubelet-bad': 'the node says that its kubelet is not well',
    'kubelet-unknown': 'the node does not know how its kubelet is',
    'link-back': 'its link to the apiserver works',
    'roster-left': 'the node has left the zone',
  }
  return words[why]
}

/** How often the unreachable taint was put back, and when it is taken off next; undefined before the control plane ever put it back. */
export const describeTaintBackoff = (backoff: TaintBackoff, w: Wording): string | undefined =>
  backoff.removals < 2
    ? undefined
    : `the control plane put ${UNREACHABLE_TAINT}:NoExecute back ` +
      `${count(backoff.removals - 1, 'time')}; the next removal is not before ` +
      `${span(backoff.lastAt + backoff.waitMs - w.now)} from now (--vouch=lease avoids this)`
