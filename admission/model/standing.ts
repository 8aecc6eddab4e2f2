// SPDX-License-Identifier: Apache-2.0
import { PEER_HEALTH, UNHEALTHY_ANNOTATION } from '../../core/marks.js'
import { conditionStatus, instantOf, mapsAt, textAt, valueAt } from './read.js'

/** What is looked at of a Node. */
export interface NodeFacts {
  readonly name: string
  /** Status of its condition Ready: `True`, `False`, `Unknown`; '' without the condition. */
  readonly ready: string
  /** The peers call it dead: the annotation `nodeunhealth`. */
  readonly isMarked: boolean
  /** The peers vouch for it: PeerHealth is True, CloudLinkCut. */
  readonly isVouched: boolean
  /** When they said so last, epoch ms by the clock of who wrote it. */
  readonly vouchedAt: number | undefined
}

/** Which nodes are kept. */
export interface KeepRules {
  /** `vouched`: while the peers vouch. `superedge`: as long as nobody marks the node, whether it lives or not. */
  readonly mode: 'vouched' | 'superedge'
  /** How long ago the peers may last have vouched. */
  readonly freshForMs: number
  /** With `superedge`: marked nodes too. */
  readonly keepsMarked: boolean
}

/** Why a node is not kept. */
export type NotKept =
  /** Its Ready is not Unknown: the control plane hears it. */
  | 'heard'
  | 'marked'
  | 'not-vouched'
  /** The peers' word is too old, or of the future, or undated. */
  | 'word-not-fresh'
  /** No stamp has the apiserver's time. */
  | 'no-time'

export type Standing = { readonly kept: true } | { readonly kept: false; readonly why: NotKept }

/** A stamp may be ahead of the apiserver's clock by so much. */
const AHEAD_MS = 2_000

const no = (why: NotKept): Standing => ({ kept: false, why })

/** Reads a Node as the API has it; what is missing or malformed counts as not there. */
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
 * Whether a node's Pods are kept where they are.
 * @param now epoch ms by the apiserver's clock; undefined when it is not known
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
  return isFresh ? { kept: true } : no('word-not-fresh')
}
