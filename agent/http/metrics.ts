// SPDX-License-Identifier: Apache-2.0
import { Counter, Gauge, Registry } from 'prom-client'
import { metricTable, type MetricRow } from './metric-table.js'
import type { Views } from './views.js'

/** `/metrics`. */
export interface Metrics {
  readonly contentType: string
  render(): Promise<string>
}

const set = (metric: Gauge | Counter, row: MetricRow): void => {
  // Everything is read from a view at the moment of the scrape; a node that left must not stay behind.
  metric.reset()
  for (const [value, ...labels] of row.read()) {
    const named = Object.fromEntries(row.labels.map((name, index) => [name, labels[index] ?? '']))
    if (metric instanceof Gauge) metric.set(named, value)
    else metric.inc(named, value)
  }
}

/** Metrics on a registry of their own: two agents in one process do not meet. The views are read once per scrape. */
export const makeMetrics = (views: Views): Metrics => {
  const registry = new Registry()
  const table = metricTable(views)
  const metrics = table.rows.map(row => {
    const { name, help, labels } = row
    const options = { name, help, labelNames: [...labels], registers: [registry] }
    return [row.kind === 'gauge' ? new Gauge(options) : new Counter(options), row] as const
  })
  return {
    contentType: registry.contentType,
    render: () => {
      table.refresh()
      for (const [metric, row] of metrics) set(metric, row)
      return registry.metrics()
    },
  }
}
