// SPDX-License-Identifier: Apache-2.0
import type { RequestListener } from 'node:http'
import type { Clock } from '../../core/clock.js'
import { METRICS_TYPE } from '../../net/metrics-text.js'
import { agentMetricsText, type MetricsNodes } from './metrics.js'
import { sendBytes, sendText } from './plain.js'
import type { Views } from './views.js'

/** How long a text is served again, so that many requests cost no more than one. */
const KEEP_MS = 1_000

/** What the listener of `--metrics-address` needs. */
export interface MetricsSeams {
  readonly views: Views
  readonly metricsNodes: MetricsNodes
  readonly clock: Clock
}

/** Serves `/metrics` and nothing else: off the node nobody reads the status or changes a thing. */
export const makeMetricsApp = ({ views, metricsNodes, clock }: MetricsSeams): RequestListener => {
  let kept: { readonly body: Buffer; readonly at: number } | undefined
  const body = (): Buffer => {
    const now = clock.now()
    if (kept === undefined || now - kept.at >= KEEP_MS)
      kept = { body: Buffer.from(agentMetricsText(views, metricsNodes)), at: now }
    return kept.body
  }
  return ({ method, url = '' }, response) => {
    if (url.split('?', 1)[0] !== '/metrics') sendText(response, 404, '404 page not found')
    else if (method !== 'GET' && method !== 'HEAD') sendText(response, 405, 'only GET')
    else sendBytes(response, METRICS_TYPE, body())
  }
}
