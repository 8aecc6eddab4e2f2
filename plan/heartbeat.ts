// SPDX-License-Identifier: Apache-2.0
import { PEER_HEALTH } from '../core/marks.js'
import type { NodeView } from '../core/node.js'
import { carriesCutMarks } from './node-plan.js'
import { NOTHING, type NodePlan } from './patch.js'

/** What to do about the age of a vouched node's condition. */
export interface HeartbeatStep {
  readonly plan: NodePlan
  /** When it is due, in milliseconds from now; +Infinity when the node does not carry the marks yet. */
  readonly dueInMs: number
}

/**
 * Says again that the peers vouch for the node. Nobody looks at a Lease where `--vouch=taint` is used, so the condition's
 * own time is what shows that somebody still vouches: an admission policy believes it while it is young. `serverTime`
 * is the apiserver's clock in epoch ms, as the times on the Node are.
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
  return {
    plan: {
      kind: 'status',
      patch: {
        type: 'strategic-merge',
        body: {
          metadata: { resourceVersion: node.resourceVersion },
          status: { conditions: [condition] },
        },
      },
    },
    dueInMs: 0,
  }
}
