// SPDX-License-Identifier: Apache-2.0
import type { NodeCondition, NodeView, Taint } from '../core/node.js'
import {
  OWN_PREFIX,
  PEER_HEALTH,
  REASON_ANNOTATION,
  UNHEALTHY_ANNOTATION,
  VOUCHED_LABEL,
} from '../core/marks.js'
import type { Explanation } from '../vote/explanation.js'
import type { OwnTaint, PlanOptions } from './options.js'
import { NOTHING, statusPatch, type NodePlan } from './patch.js'
import { isSameTaint, planTaints } from './taints.js'

/**
 * What a node should look like. `keep`: nothing is known for sure, so nothing changes. `left`: the node is not ours to
 * judge any more, and our marks go.
 */
export type DesiredMarks = 'keep' | 'dead' | 'kubelet-sick' | 'vouched' | 'healthy' | 'left'

/** The marks that follow from a verdict. Only final verdicts are written, so neither hold nor brake shows here. */
export const marksOfVerdict = (
  explanation: Pick<Explanation, 'verdict' | 'class'>,
  isVouched: boolean,
): DesiredMarks => {
  if (explanation.verdict === 'undecided') return 'keep'
  if (explanation.verdict === 'unhealthy')
    return explanation.class === 'kubelet-sick' ? 'kubelet-sick' : 'dead'
  return isVouched ? 'vouched' : 'healthy'
}

/** What goes into a write beside the desired marks. */
export interface WriteWords {
  /** In words, for the condition and the annotation; at most 1024 characters. */
  readonly message: string
  /** RFC 3339: the apiserver's time, or the writer's where it does not say. */
  readonly at: string
}

/** What the desired marks mean on the node, field by field. */
interface Marks {
  readonly unhealthy: boolean
  readonly status: NodeCondition['status']
  readonly reason: string
  readonly hasReason: boolean
  readonly isVouched: boolean
}

type Written = Exclude<DesiredMarks, 'keep'>

const PLAIN = { unhealthy: false, hasReason: false, isVouched: false } as const
const CONDEMNED = { unhealthy: true, status: 'False', hasReason: true, isVouched: false } as const

const MARKS: Readonly<Record<Written, Marks>> = {
  dead: { ...CONDEMNED, reason: 'PeersCannotReach' },
  'kubelet-sick': { ...CONDEMNED, reason: 'KubeletSick' },
  vouched: {
    ...{ unhealthy: false, status: 'True', reason: 'CloudLinkCut' },
    ...{ hasReason: true, isVouched: true },
  },
  healthy: { ...PLAIN, status: 'True', reason: 'PeersReachNode' },
  left: { ...PLAIN, status: 'Unknown', reason: 'NotJudged' },
}

const conditionOf = (node: NodeView): NodeCondition | undefined =>
  node.conditions.find(condition => condition.type === PEER_HEALTH)

/** Whether the node's marks say that its cloud link is cut. */
export const carriesCutMarks = (node: NodeView): boolean =>
  conditionOf(node)?.reason === MARKS.vouched.reason

/** Whether the node carries marks of ours that a healthy one does not: then a configured taint without our prefix is ours, too. */
const isMarked = (node: NodeView): boolean => {
  const condition = conditionOf(node)
  return (
    node.annotations[UNHEALTHY_ANNOTATION] !== undefined ||
    node.annotations[REASON_ANNOTATION] !== undefined ||
    node.labels[VOUCHED_LABEL] !== undefined ||
    condition?.status === 'False'
  )
}

const taintsFor = (desired: Written, options: PlanOptions): readonly OwnTaint[] => {
  const isDead = desired === 'dead' || desired === 'kubelet-sick'
  const taint = isDead ? options.deadTaint : desired === 'vouched' ? options.cutTaint : undefined
  return taint === undefined ? [] : [taint]
}

const planOwnTaints = (
  node: NodeView,
  desired: Written,
  at: string,
  options: PlanOptions,
): NodePlan => {
  const wanted = taintsFor(desired, options)
  const configured = isMarked(node) ? [options.deadTaint, options.cutTaint] : []
  const isOurs = (taint: Taint): boolean =>
    taint.key.startsWith(OWN_PREFIX) ||
    configured.some(own => own !== undefined && isSameTaint(own, taint))
  const unwanted = (taint: Taint): boolean =>
    isOurs(taint) && !wanted.some(want => isSameTaint(want, taint))
  return planTaints(node, { unwanted, wanted, at })
}

/** Changed annotations: a value sets, null removes. */
const annotationsFor = (
  node: NodeView,
  marks: Marks,
  moved: boolean,
  message: string,
): Record<string, string | null> => {
  const changed: Record<string, string | null> = {}
  const unhealthy = node.annotations[UNHEALTHY_ANNOTATION]
  const reason = node.annotations[REASON_ANNOTATION]
  if (marks.unhealthy && unhealthy !== 'yes') changed[UNHEALTHY_ANNOTATION] = 'yes'
  if (!marks.unhealthy && unhealthy !== undefined) changed[UNHEALTHY_ANNOTATION] = null
  if (marks.hasReason && (moved || reason === undefined)) changed[REASON_ANNOTATION] = message
  if (!marks.hasReason && reason !== undefined) changed[REASON_ANNOTATION] = null
  return changed
}

/** Changed labels: a value sets, null removes. */
const labelsFor = (node: NodeView, { isVouched }: Marks): Record<string, string | null> => {
  const now = node.labels[VOUCHED_LABEL]
  if (isVouched) return now === 'true' ? {} : { [VOUCHED_LABEL]: 'true' }
  return now === undefined ? {} : { [VOUCHED_LABEL]: null }
}

const isEmpty = (changes: object): boolean => Object.keys(changes).length === 0

/** The condition keeps its `lastTransitionTime` while its status stays, as Kubernetes' own conditions do. */
const conditionFor = (node: NodeView, marks: Marks, words: WriteWords): object => {
  const old = conditionOf(node)
  const since = old?.status === marks.status ? old.lastTransitionTime : undefined
  return {
    type: PEER_HEALTH,
    status: marks.status,
    reason: marks.reason,
    message: words.message,
    lastHeartbeatTime: words.at,
    lastTransitionTime: since ?? words.at,
  }
}

/**
 * Annotations, label and condition in one write: the real apiserver lets metadata change through `nodes/status`. The
 * message is written when status or reason change; another message alone is no reason to write. A node that is fine
 * and never carried our condition does not get one.
 */
const planStatus = (node: NodeView, desired: Written, words: WriteWords): NodePlan => {
  const marks = MARKS[desired]
  const old = conditionOf(node)
  const moved = old?.status !== marks.status || old.reason !== marks.reason
  const annotations = annotationsFor(node, marks, moved, words.message)
  const labels = labelsFor(node, marks)
  const isMetadata = !isEmpty(annotations) || !isEmpty(labels)
  const needsCondition = moved && (marks.hasReason || old !== undefined || isMetadata)
  if (!isMetadata && !needsCondition) return NOTHING
  return statusPatch(node, {
    metadata: {
      ...(isEmpty(annotations) ? {} : { annotations }),
      ...(isEmpty(labels) ? {} : { labels }),
    },
    conditions: needsCondition ? [conditionFor(node, marks, words)] : [],
  })
}

/**
 * The next write that brings `node` to the desired marks, or nothing. Marks are written before taints and taken off after
 * them, so that a taint of ours never stands on a node without the marks that say whose it is: a writer that dies
 * in between leaves work that the next one recognises.
 */
export const planNode = (
  node: NodeView,
  desired: DesiredMarks,
  words: WriteWords,
  options: PlanOptions,
): NodePlan => {
  if (desired === 'keep') return NOTHING
  const taints = planOwnTaints(node, desired, words.at, options)
  const status = planStatus(node, desired, words)
  const [first, second] = MARKS[desired].hasReason ? [status, taints] : [taints, status]
  return first.kind === 'nothing' ? second : first
}

/**
 * Sets Ready of a vouched node to True once the control plane has set it to Unknown. False stays: the kubelet itself
 * reported it.
 */
export const planReady = (node: NodeView, words: WriteWords): NodePlan => {
  const ready = node.conditions.find(condition => condition.type === 'Ready')
  if (ready?.status !== 'Unknown') return NOTHING
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'PeersVouch',
    message: words.message,
    lastHeartbeatTime: words.at,
    lastTransitionTime: words.at,
  }
  return statusPatch(node, { conditions: [condition] })
}
