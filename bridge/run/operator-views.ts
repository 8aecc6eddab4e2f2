// SPDX-License-Identifier: Apache-2.0
import { parseNodeName, type NodeName } from '../../core/ids.js'
import type { Metric } from '../../net/metrics-text.js'
import { jsonAnswer, plainAnswer, type OperatorViews } from '../../net/operator-routes.js'
import { bridgeMetrics } from './metrics.js'
import type { BridgeStatusView } from './status-view.js'

/** A bridge that stands by is ready too, or a rollout would wait for ever. */
const readiness = ({ hub, tables }: BridgeStatusView): ReturnType<OperatorViews['ready']> => {
  const missing = Object.keys(tables).filter(name => !tables[name]!.isSynced)
  const reasons = [
    ...(hub === undefined ? ['there are no certificates yet'] : []),
    ...(missing.length === 0 ? [] : [`not listed yet: ${missing.join(', ')}`]),
  ]
  return { isReady: reasons.length === 0, reason: reasons.join('; ') || 'ok' }
}

const nodeIn = (query: URLSearchParams): NodeName | undefined => {
  try {
    return parseNodeName(query.get('node'))
  } catch {
    return undefined
  }
}

/** The paths for operators and the kubelet, and `/explain?node=NAME`. */
export const bridgeViews = (
  view: () => BridgeStatusView,
  more: {
    readonly metrics: () => readonly Metric[]
    readonly explain: (node: NodeName) => object
  },
): OperatorViews => ({
  status: view,
  metrics: () => bridgeMetrics(view(), more.metrics()),
  ready: () => readiness(view()),
  more: {
    '/explain': query => {
      const node = nodeIn(query)
      return node === undefined
        ? plainAnswer(400, 'node must be the name of a Node: /explain?node=NAME')
        : jsonAnswer(more.explain(node))
    },
  },
})
