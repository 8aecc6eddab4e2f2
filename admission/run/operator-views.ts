// SPDX-License-Identifier: Apache-2.0
import { jsonAnswer, plainAnswer, type OperatorViews } from '../../net/operator-routes.js'
import type { NodeExplained } from '../model/explain.js'
import { admissionMetrics } from './metrics.js'
import type { AdmissionStatusView } from './status-view.js'

/** The longest name of a Node. */
const LONGEST_NAME = 253

const readiness = ({
  nodes,
  certificate,
}: AdmissionStatusView): ReturnType<OperatorViews['ready']> => {
  const missing = [
    ...(nodes.isSynced ? [] : ['Nodes are not listed yet']),
    ...(certificate.validUntil === null ? ['there is no certificate yet'] : []),
    ...(certificate.isTrusted
      ? []
      : ['the CA of the certificate is not in the webhook configurations yet']),
  ]
  return { isReady: missing.length === 0, reason: missing.join('; ') || 'ok' }
}

/** The paths for operators and the kubelet, and `/explain?node=NAME`. */
export const admissionViews = (
  view: () => AdmissionStatusView,
  explain: (name: string) => NodeExplained,
): OperatorViews => ({
  status: view,
  metrics: () => admissionMetrics(view()),
  ready: () => readiness(view()),
  more: {
    '/explain': query => {
      const name = query.get('node') ?? ''
      if (name === '' || name.length > LONGEST_NAME)
        return plainAnswer(400, 'node must be the name of a Node: /explain?node=NAME')
      return jsonAnswer(explain(name))
    },
  },
})
