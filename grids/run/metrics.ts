// SPDX-License-Identifier: Apache-2.0
import {
  bit,
  countsBy,
  countsByPair,
  metricFactory,
  metricsText,
  processMetrics,
  samplesBy,
  type Metric,
} from '../../net/metrics-text.js'
import type { GridsStatusView } from './status-view.js'

const factory = metricFactory('edge_health_grids_')
const { gauge, counter, histogram } = factory

const metricsOf = (view: GridsStatusView): readonly Metric[] => {
  const { leader, queue, grids, counts, tables, events } = view
  return [
    gauge('build_info', 'Always 1; the labels say what runs', [1, { version: view.version }]),
    gauge('leading', '1 while this process leads', [bit(leader.isLeading)]),
    gauge('grids', 'Grids that are known', [grids.known]),
    gauge('held', 'Grids whose deletions wait for a confirmation', [grids.held]),
    gauge('invalid', 'Grids that are invalid', [grids.invalid]),
    gauge('failed_units', 'Units and Services that are not as wanted', [grids.failedUnits]),
    gauge('queue_depth', 'Grids in the queue', ...countsBy('state', { ...queue })),
    counter('writes', 'Writes of children', ...countsByPair(['kind', 'result'], counts.writes)),
    counter('drift', 'Applies, by cause', ...countsBy('cause', counts.drift)),
    counter('status_writes', 'Writes of status', ...countsBy('result', counts.statuses)),
    counter('reconciles', 'Reconciliations of grids', ...countsBy('result', counts.reconciles)),
    histogram(
      'reconcile_duration_seconds',
      'How long reconciliations of grids took',
      view.reconcileSeconds,
    ),
    gauge('objects', 'Objects in memory', ...samplesBy('resource', tables, table => table.objects)),
    gauge(
      'stale',
      '1 while the watch of a resource does not run',
      ...samplesBy('resource', tables, table => bit(table.state !== 'watching')),
    ),
    counter('lists', 'Full lists', ...samplesBy('resource', tables, table => table.lists)),
    counter('events_sent', 'Events that were sent', [events.sent]),
    counter('events_dropped', 'Events that were never sent', [events.dropped]),
    gauge('uptime_seconds', 'Since the start', [view.uptimeSeconds]),
    ...processMetrics(factory),
  ]
}

/** The text of `/metrics`. */
export const gridsMetrics = (view: GridsStatusView): string => metricsText(metricsOf(view))
