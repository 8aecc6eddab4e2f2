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
import type { HubStatus } from '../hub/hub.js'
import type { BridgeStatusView } from './status-view.js'

/** The prefix of all metrics of the bridge. */
export const bridgeMetricFactory = metricFactory('edge_health_bridge_')
const { gauge, counter, histogram } = bridgeMetricFactory

/** While there are no certificates and so no hub. */
const NO_HUB: HubStatus = {
  ...{ connected: 0, accepted: 0, refused: {}, ended: {} },
  ...{ framesIn: 0, framesOut: 0, malformed: 0 },
}

const hubMetrics = ({ hub = NO_HUB }: BridgeStatusView): readonly Metric[] => [
  gauge('connected', 'Edges that are connected', [hub.connected]),
  counter('connections', 'Connections accepted from nodes', [hub.accepted]),
  counter('refused', 'Connections that were refused', ...countsBy('status', hub.refused)),
  counter('ended', 'Connections that ended', ...countsBy('reason', hub.ended)),
  counter(
    'frames',
    'Messages',
    [hub.framesIn, { direction: 'in' }],
    [hub.framesOut, { direction: 'out' }],
  ),
  counter('malformed', 'Frames that could not be parsed as messages', [hub.malformed]),
]

const listenerMetrics = ({ listeners }: BridgeStatusView): readonly Metric[] => [
  gauge(
    'handshakes_waiting',
    'Connections that wait for their TLS handshake',
    ...samplesBy('listener', listeners, ({ waiting }) => waiting),
  ),
  counter(
    'handshakes_delayed',
    'Connections that had to wait for their TLS handshake',
    ...samplesBy('listener', listeners, ({ delayed }) => delayed),
  ),
  counter(
    'evicted',
    'Connections that were closed to make room before they were accepted as a node’s',
    ...samplesBy('listener', listeners, ({ evicted }) => evicted),
  ),
]

const upstreamMetrics = ({ upstream, watches }: BridgeStatusView): readonly Metric[] => [
  gauge('running', 'Requests of edges that are being carried out', [upstream.running]),
  gauge('waiting', 'Requests of edges that are queued', [upstream.waiting]),
  gauge('watches', 'Watches of agents that are open', [watches.watches]),
  gauge('watches_waiting', 'Changes that are queued for agents', [watches.waiting]),
  counter(
    'requests',
    'Requests of edges',
    ...countsByPair(['handler', 'result'], upstream.requests),
  ),
  counter('unserved', 'Messages without a handler', ...countsBy('kind', upstream.unknown)),
  counter('dropped', 'Messages dropped for lack of room', ...countsBy('kind', upstream.dropped)),
  histogram('lease_seconds', "From a Lease's arrival to its answer", upstream.leaseSeconds),
]

/** The text of `/metrics`. */
export const bridgeMetrics = (view: BridgeStatusView, downstream: readonly Metric[]): string => {
  const { tables } = view
  return metricsText([
    gauge('build_info', 'Always 1; the labels say what runs', [1, { version: view.version }]),
    gauge('leading', '1 while this process leads', [bit(view.leader.isLeading)]),
    gauge('serving', '1 while edges are accepted', [bit(view.isServing)]),
    ...hubMetrics(view),
    ...listenerMetrics(view),
    ...upstreamMetrics(view),
    gauge('objects', 'Objects in memory', ...samplesBy('resource', tables, table => table.objects)),
    gauge(
      'stale',
      '1 while the watch of a resource does not run',
      ...samplesBy('resource', tables, table => bit(table.state !== 'watching')),
    ),
    ...downstream,
    gauge('uptime_seconds', 'Since the start', [view.uptimeSeconds]),
    ...processMetrics(bridgeMetricFactory),
  ])
}
