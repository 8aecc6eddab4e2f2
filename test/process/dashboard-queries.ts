// SPDX-License-Identifier: Apache-2.0
import type { Test } from 'tap'
import { eventually } from '../../testkit/bundle.js'
import { dashboards, expressionFor } from '../../testkit/prometheus/dashboards.js'
import type { Prometheus } from '../../testkit/prometheus/server.js'

/** Prometheus understands each query of each panel of these dashboards, and finds something within `limitMs` each. */
export const tryDashboards = async (
  t: Test,
  server: Prometheus,
  {
    uids,
    zone,
    limitMs,
  }: { readonly uids: readonly string[]; readonly zone: string; readonly limitMs: number },
): Promise<void> => {
  const chosen = dashboards().filter(({ uid }) => uids.includes(uid))
  t.equal(chosen.length, uids.length)
  for (const { title, panels } of chosen)
    for (const { title: panel, targets = [] } of panels)
      for (const { expr, refId } of targets) {
        const name = `${title}, ${panel}, ${refId}`
        const query = expressionFor(expr, zone, '1m')
        const isFound = async () => (await server.query(query)).length > 0
        await eventually(name, limitMs, isFound)
        t.pass(name)
      }
}
