// SPDX-License-Identifier: Apache-2.0
import type { NodeView } from '../../../core/node.js'
import { explanationOf, type Explanation } from '../../../vote/explanation.js'
import { NOTHING, type NodePlan } from '../../../plan/patch.js'
import {
  planNode,
  planReady,
  marksOfVerdict,
  type DesiredMarks,
  type WriteWords,
} from '../../../plan/node-plan.js'
import { CLASSES } from '../../../vote/judgement.js'
import { rulingOf } from '../../../vote/majority.js'
import { VERDICTS } from '../../../vote/quorum.js'
import { messageFor, type Wording } from '../../../plan/messages.js'
import { isVouched } from '../../../vote/vouch.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { ZoneState } from '../../results.js'

/** The instant of a decision: by `Clock.now`, and as it is written. */
export interface Instant {
  readonly now: number
  readonly wall: number
}

const SILENT: WriteWords = { message: '', at: '' }

/**
 * What the zone wants the member's Node to look like. Cheap: builds no texts. A condemnation that became final just
 * before the brake came on, and was not written yet, stays unwritten. A verdict that the present votes no longer ask for
 * is not written: it could overwrite what others decided since then with more votes.
 */
export const desiredMarksFor = (
  { judgement, table, vouching }: ZoneState,
  index: number,
): DesiredMarks => {
  const verdict = VERDICTS[judgement.verdict[index]!]!
  if (judgement.brake && verdict === 'unhealthy') return 'keep'
  const desired = marksOfVerdict(
    { verdict, class: CLASSES[judgement.nodeClass[index]!]! },
    isVouched(vouching, index),
  )
  return desired === 'vouched' || rulingOf(judgement, table, index) === judgement.verdict[index]
    ? desired
    : 'keep'
}

/** The next write that the desired marks ask of the Node; a vouched node that the control plane gave up is also made Ready. */
export const planMarks = (
  node: NodeView,
  desired: DesiredMarks,
  words: WriteWords,
  options: AgentOptions,
): NodePlan => {
  if (desired === 'vouched' && options.vouch === 'lease') {
    const ready = planReady(node, words)
    if (ready.kind !== 'nothing') return ready
  }
  return desired === 'keep' ? NOTHING : planNode(node, desired, words, options)
}

/**
 * Vouching that just began asks for no marks yet: after an outage of the whole zone the links come back one after the
 * other, and the last one is not cut off. Its Lease is renewed meanwhile, and a node that was given up is made Ready.
 */
export const planYoungVouch = (
  node: NodeView,
  words: WriteWords,
  options: AgentOptions,
): NodePlan => (options.vouch === 'lease' ? planReady(node, words) : NOTHING)

/** Whether the Node as last seen differs from the desired marks. */
export const differs = (
  node: NodeView,
  desired: DesiredMarks,
  isYoung: boolean,
  options: AgentOptions,
): boolean => {
  const plan = isYoung
    ? planYoungVouch(node, SILENT, options)
    : planMarks(node, desired, SILENT, options)
  return plan.kind !== 'nothing'
}

/** How this zone's members are named. */
export const wordingOf = ({ roster }: ZoneState, now: number): Wording => ({
  nameOf: index => roster.members[index]!.name,
  now,
})

/** Everything that is known about the member, and the sentence for what is about to be written. */
export const wordsFor = (
  state: ZoneState,
  index: number,
  desired: DesiredMarks,
  at: Instant & { readonly options: AgentOptions },
): { readonly explanation: Explanation; readonly words: WriteWords } => {
  const { now, options } = at
  const explanation = explanationOf(state.judgement, state.table, index, { now, options })
  const message = messageFor(desired, explanation, wordingOf(state, now))
  return { explanation, words: { message, at: new Date(at.wall).toISOString() } }
}
