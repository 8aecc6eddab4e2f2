// SPDX-License-Identifier: Apache-2.0
import type { RequestListener } from 'node:http'
import type { Logger } from '../../core/log.js'
import { jsonAnswer, operatorRoutes, plainAnswer, type Answer } from '../../net/operator-routes.js'
import { wrapperMetricsText } from './metrics.js'
import type { ServiceView, WrapperStatusView } from './status-view.js'

/** What the listener for operators shows. All of it is available at once. */
export interface WrapperViews {
  status(): WrapperStatusView
  /** Undefined when neither the service nor any endpoint of it is known. @param service `namespace/name` */
  explain(service: string): ServiceView | undefined
}

const SERVICE = /^[a-z0-9][-a-z0-9]{0,62}\/[a-z0-9][-a-z0-9.]{0,252}$/

const explain = (views: WrapperViews, service: string | null): Answer => {
  if (service === null || !SERVICE.test(service))
    return plainAnswer(400, 'service must be NAMESPACE/NAME')
  const view = views.explain(service)
  return view === undefined ? plainAnswer(404, 'no such service') : jsonAnswer(view)
}

/** What operators and the kubelet may ask: the paths of every program, and `/explain?service=`. */
export const statusRoutes = (views: WrapperViews, log: Logger): RequestListener =>
  operatorRoutes(
    {
      status: () => views.status(),
      metrics: () => wrapperMetricsText(views.status()),
      ready: () => views.status().ready,
      more: { '/explain': query => explain(views, query.get('service')) },
    },
    log,
  )
