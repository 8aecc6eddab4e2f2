// SPDX-License-Identifier: Apache-2.0
import { countsBy, type Metric, type MetricFactory } from '../../net/metrics-text.js'
import type { StatusView } from './status-view.js'
import type { Counts } from './views.js'

const STAGE = { ok: 1, failing: 0, waiting: -1 } as const

const stageMetrics = (
  { gauge, counter }: MetricFactory,
  { stages }: Pick<StatusView, 'stages'>,
): readonly Metric[] => [
  gauge(
    'stage_ok',
    '1 when the last round of the stage succeeded, 0 when it failed, -1 before the first',
    ...stages.map(({ name, state }) => [STAGE[state], { stage: name }] as const),
  ),
  counter(
    'stage_rounds',
    'Rounds begun by each stage',
    ...stages.map(({ name, rounds }) => [rounds, { stage: name }] as const),
  ),
]

const probeMetrics = ({ counter, histogram }: MetricFactory, counts: Counts): readonly Metric[] => [
  counter(
    'probe_rounds',
    'Finished probe rounds by result; void: the probe itself failed',
    ...countsBy('result', counts.probeRounds),
  ),
  counter('probe_attempts', 'Probe attempts', [counts.probeAttempts]),
  histogram(
    'probe_duration_seconds',
    'How long the probe rounds took that found their node up',
    counts.probeDuration,
  ),
  counter(
    'flips',
    'Changes of own probes, of the local view, and of verdicts',
    ...countsBy('what', counts.flips),
  ),
]

const exchangeMetrics = ({ counter }: MetricFactory, { exchange }: Counts): readonly Metric[] => [
  counter('exchange_sent_bytes', 'Bytes of messages sent to peers', [exchange.sentBytes]),
  counter('exchange_received_bytes', 'Bytes of messages received from peers', [
    exchange.receivedBytes,
  ]),
  counter(
    'exchange_messages',
    'Messages by direction; failed: could not be sent',
    [exchange.sent, { result: 'sent' }],
    [exchange.failed, { result: 'failed' }],
    [exchange.received, { result: 'received' }],
  ),
  counter(
    'exchange_refused',
    'Messages of peers that were refused',
    ...countsBy('reason', exchange.refused),
  ),
  counter('identity_verified', 'Signatures of members that were checked, good or bad', [
    exchange.proved,
  ]),
  counter(
    'identity_equivocations',
    'Different statements of one member with the same number: its keys are on two machines, or it lies',
    [exchange.equivocations],
  ),
]

const apiMetrics = (
  { counter }: MetricFactory,
  { writes, watchLists, configProblems }: Counts,
): readonly Metric[] => [
  counter(
    'api_writes',
    'Writes to the Kubernetes API',
    ...writes.map(({ kind, result, count }) => [count, { kind, result }] as const),
  ),
  counter('watch_lists', 'Full lists that watches had to take', [watchLists]),
  counter('config_problems', 'ConfigMaps or Secrets that could not be read and were left out', [
    configProblems,
  ]),
]

const hostMetrics = (
  { counter }: MetricFactory,
  { suspensions, connectionsEvicted }: Counts,
): readonly Metric[] => [
  counter(
    'suspensions',
    'Times that this agent, or its machine, stood still for more than 5 s and started over',
    [suspensions],
  ),
  counter(
    'connections_evicted',
    'Connections that were closed to make room for others',
    ...countsBy('listener', connectionsEvicted),
  ),
]

/** What the agent did since it started. */
export const workMetrics = (
  factory: MetricFactory,
  status: Pick<StatusView, 'stages'>,
  counts: Counts,
): readonly Metric[] => [
  ...stageMetrics(factory, status),
  ...probeMetrics(factory, counts),
  ...exchangeMetrics(factory, counts),
  ...apiMetrics(factory, counts),
  ...hostMetrics(factory, counts),
]
