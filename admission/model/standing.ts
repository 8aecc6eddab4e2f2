// SPDX-License-Identifier: Apache-2.0
import { mapsAt, textAt, valueAt } from '../../core/json-at.js'
import { PEER_HEALTH, UNHEALTHY_ANNOTATION } from '../../core/marks.js'
import { conditionStatus, instantOf } from './read.js'

/** The facts of a Node that decide whether it is kept. */
export interface NodeFacts {
  readonly name: string
  /** Status of its Ready condition: `True`, `False`, `Unknown`; '' when missing. */
  readonly ready: string
  /** The peers report it dead: annotation `nodeunhealth`. */
  readonly isMarked: boolean
  /** The peers vouch for it: condition PeerHealth is True with reason CloudLinkCut. */
  readonly isVouched: boolean
  /** When they last did, epoch ms by the clock of the agent that wrote it. */
  readonly vouchedAt: number | undefined
}

/** Which nodes are kept. */
export interface KeepRules {
  /** `vouched`: while the peers vouch. `superedge`: while nobody marks the node dead, whether it lives or not. */
  readonly mode: 'vouched' | 'superedge'
  /** Greatest age of the peers' last report. */
  readonly freshForMs: number
  /** In mode `superedge`: keep marked nodes too. */
  readonly keepsMarked: boolean
}

/** Why a node is not kept. */
export type NotKept =
  /** Its Ready is not Unknown: the control plane hears from it. */
  | 'heard'
  | 'marked'
  | 'not-vouched'
  /** The peers' report is too old, in the future, or without a time. */
  | 'report-too-old'
  /** The write has no timestamp of the apiserver. */
  | 'no-time'

export type Standing = { readonly kept: true } | { readonly kept: false; readonly why: NotKept }

/** How far a timestamp may be ahead of the apiserver's clock. */
const AHEAD_MS = 2_000

const no = (why: NotKept): Standing => ({ kept: false, why })

/** The facts of a Node of the API; what is missing or malformed counts as absent. */
export const nodeFacts = (node: unknown): NodeFacts => {
  const word = mapsAt(node, 'status', 'conditions').find(
    condition => condition['type'] === PEER_HEALTH,
  )
  return {
    name: textAt(node, 'metadata', 'name'),
    ready: conditionStatus(node, 'Ready'),
    isMarked: valueAt(node, 'metadata', 'annotations', UNHEALTHY_ANNOTATION) !== undefined,
    isVouched: textAt(word, 'status') === 'True' && textAt(word, 'reason') === 'CloudLinkCut',
    vouchedAt: instantOf(textAt(word, 'lastHeartbeatTime')),
  }
}

/**
 * Whether a node's Pods are kept in place.
 * @param now epoch ms by the apiserver's clock; undefined when unknown
 */
export const judgeNode = (
  node: NodeFacts,
  { mode, freshForMs, keepsMarked }: KeepRules,
  now: number | undefined,
): Standing => {
  if (node.ready !== 'Unknown') return no('heard')
  if (mode === 'superedge') return node.isMarked && !keepsMarked ? no('marked') : { kept: true }
  if (node.isMarked) return no('marked')
  if (!node.isVouched) return no('not-vouched')
  if (now === undefined) return no('no-time')
  const { vouchedAt } = node
  const isFresh =
    vouchedAt !== undefined && vouchedAt <= now + AHEAD_MS && now <= vouchedAt + freshForMs
  return isFresh ? { kept: true } : no('report-too-old')
}
