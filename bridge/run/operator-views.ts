// SPDX-License-Identifier: Apache-2.0
import { parseNodeName, type NodeName } from '../../core/ids.js'
import type { Metric } from '../../net/metrics-text.js'
import { jsonAnswer, plainAnswer, type OperatorViews } from '../../net/operator-routes.js'
import { bridgeMetrics } from './metrics.js'
import type { BridgeStatusView } from './status-view.js'

/** Only who serves is ready, so that a Service leads edges to the one that lets them in. */
const readiness = ({
  isServing,
  hub,
  tables,
  leader,
}: BridgeStatusView): ReturnType<OperatorViews['ready']> => {
  if (isServing) return { isReady: true, reason: 'ok' }
  const missing = Object.keys(tables).filter(name => !tables[name]!.isSynced)
  const reasons = [
    ...(hub === undefined ? ['there are no certificates yet'] : []),
    ...(missing.length === 0 ? [] : [`not listed yet: ${missing.join(', ')}`]),
  ]
  const waits = leader.holder === '' ? 'waits for the Lease' : `${leader.holder} serves the edges`
  return { isReady: false, reason: reasons.join('; ') || waits }
}

const nodeIn = (query: URLSearchParams): NodeName | undefined => {
  try {
    return parseNodeName(query.get('node'))
  } catch {
    return undefined
  }
}

/** What operators and the kubelet may ask: the usual paths, and `/explain?node=NAME`. */
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
