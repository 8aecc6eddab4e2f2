// SPDX-License-Identifier: Apache-2.0
import { PEER_HEALTH } from '../core/marks.js'
import type { NodeView } from '../core/node.js'
import { carriesCutMarks } from './node-plan.js'
import { NOTHING, statusPatch, type NodePlan } from './patch.js'

/** Whether to renew the time of a vouched node's condition now, and when next. */
export interface HeartbeatStep {
  readonly plan: NodePlan
  /** When it is due, in milliseconds from now; +Infinity when the node does not carry the marks yet. */
  readonly dueInMs: number
}

/**
 * Renews the time of the condition `PeerHealth` on a node that its peers vouch for. With `--vouch=taint` they renew no Lease,
 * so this time shows that somebody still vouches: an admission policy believes it while it is young.
 * @param serverTime the apiserver's clock in epoch ms, as the times on the Node are
 */
export const heartbeatStep = (
  node: NodeView,
  { serverTime, everyMs }: { readonly serverTime: number; readonly everyMs: number },
): HeartbeatStep => {
  if (!carriesCutMarks(node)) return { plan: NOTHING, dueInMs: Infinity }
  const { lastHeartbeatTime = '' } = node.conditions.find(({ type }) => type === PEER_HEALTH)!
  const ageMs = serverTime - Date.parse(lastHeartbeatTime)
  if (ageMs < everyMs) return { plan: NOTHING, dueInMs: Math.min(everyMs, everyMs - ageMs) }
  const condition = { type: PEER_HEALTH, lastHeartbeatTime: new Date(serverTime).toISOString() }
  return { plan: statusPatch(node, { conditions: [condition] }), dueInMs: 0 }
}
