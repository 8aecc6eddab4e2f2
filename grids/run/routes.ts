// SPDX-License-Identifier: Apache-2.0
import type { OperatorViews } from '../../net/operator-routes.js'
import { gridsMetrics } from './metrics.js'
import type { GridsStatusView } from './status-view.js'

/** Ready once everything is listed. A process that waits for the Lease is ready too, since it could lead. */
const readiness = ({ tables }: GridsStatusView): ReturnType<OperatorViews['ready']> => {
  const missing = Object.keys(tables).filter(name => !tables[name]!.isSynced)
  return missing.length === 0
    ? { isReady: true, reason: 'ok' }
    : { isReady: false, reason: `not listed yet: ${missing.join(', ')}` }
}

/** The paths for operators and the kubelet. */
export const gridsViews = (view: () => GridsStatusView): OperatorViews => ({
  status: view,
  metrics: () => gridsMetrics(view()),
  ready: () => readiness(view()),
})
