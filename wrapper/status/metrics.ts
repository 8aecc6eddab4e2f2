// SPDX-License-Identifier: Apache-2.0
import { allOf } from '../../core/all-of.js'
import {
  bit,
  countsBy,
  type Metric,
  metricFactory,
  metricsText,
  processMetrics,
  type Sample,
  samplesOf,
  stateSamples,
} from '../../net/metrics-text.js'
import type { HealthView, ResourceView, WrapperStatusView } from './status-view.js'

const factory = metricFactory('edge_health_wrapper_')
const { gauge, counter } = factory

const HEALTH_STATES = allOf<HealthView['state']>({
  ...{ off: true, waiting: true, fresh: true, 'last-known': true, expired: true },
})

const resourceMetrics = ({ resources }: WrapperStatusView): readonly Metric[] => {
  const perResource = (read: (view: ResourceView) => number | null): readonly Sample[] =>
    samplesOf(resources, read, ({ resource }) => ({ resource }))
  return [
    gauge('objects', 'Objects in the cache', ...perResource(view => view.objects)),
    gauge(
      'stale',
      '1 while the apiserver cannot be asked about the resource, so what is served may be old',
      ...perResource(view => bit(view.isStale)),
    ),
    gauge(
      'age_seconds',
      'Time since the apiserver last answered or sent an event',
      ...perResource(view => view.ageSeconds),
    ),
    gauge('watchers', 'Open watches of clients', ...perResource(view => view.watchers)),
    counter('upstream_lists', 'Full lists from the apiserver', ...perResource(view => view.lists)),
  ]
}

const requestMetrics = (view: WrapperStatusView): readonly Metric[] => {
  const { accepted, sent, dropped, refused, waiting, bytes } = view.events
  return [
    counter('requests', 'Requests of clients by outcome', ...countsBy('kind', view.requests)),
    counter(
      'watch_events',
      'Events of watches; overtaken and failed: watches that were ended because the client was too slow, or an object could not be encoded',
      ...countsBy('kind', view.watchEvents),
    ),
    gauge('events_waiting', 'Events that wait for the apiserver', [waiting]),
    gauge('events_waiting_bytes', 'Bytes of the Events that wait', [bytes]),
    counter(
      'events',
      'Events that had to wait, by outcome; dropped: the buffer, or the share of its user, was full',
      ...countsBy('kind', { accepted, sent, dropped, refused }),
    ),
    counter(
      'connections_evicted',
      'Connections that were closed to make room for others',
      ...countsBy('listener', view.connectionsEvicted),
    ),
  ]
}

const healthMetrics = ({ health }: WrapperStatusView): readonly Metric[] => [
  gauge(
    'health_state',
    '1 for the present state of the health feed',
    ...stateSamples(HEALTH_STATES, health.state),
  ),
  gauge('health_nodes', 'Nodes whose health is known', [health.nodes]),
  gauge('health_dead_nodes', 'Nodes that the agent calls dead', [health.dead.length]),
  counter('health_connects', 'Streams to the agent that were opened', [health.connects]),
]

/** What `/metrics` answers: everything from one view. */
export const wrapperMetricsText = (view: WrapperStatusView): string =>
  metricsText([
    gauge('build_info', 'Always 1; the label says what runs', [1, { version: view.version }]),
    gauge('ready', '1 when every resource can be served', [bit(view.ready.isReady)]),
    gauge(
      'own_node_missing',
      '1 while the cluster has no Node of the name that this wrapper was given',
      [bit(view.nodeTrouble !== null)],
    ),
    ...resourceMetrics(view),
    ...requestMetrics(view),
    ...healthMetrics(view),
    gauge('topology_malformed', 'Services whose topologyKeys cannot be read', [
      view.malformed.length,
    ]),
    counter('disk_writes', 'Lists that were written to disk', [view.disk.writes]),
    gauge('disk_trouble', '1 while the disk cannot be used', [bit(view.disk.trouble !== null)]),
    gauge('uptime_seconds', 'Time since the start', [view.uptimeSeconds]),
    ...processMetrics(factory),
  ])
