// SPDX-License-Identifier: Apache-2.0
import { allOf } from '../../core/all-of.js'
import {
  bit,
  countsBy,
  type Metric,
  metricFactory,
  metricsText,
  processMetrics,
  samplesOf,
  stateSamples,
} from '../../net/metrics-text.js'
import type { NodeClassName, NodeStatus, StatusView } from './status-view.js'
import type { Views } from './views.js'
import { workMetrics } from './work-metrics.js'

const factory = metricFactory('edge_health_')
const { gauge } = factory

const VERDICT = { healthy: 1, undecided: 0, unhealthy: -1 } as const
const CLOUD_LINK = { up: 1, cut: 0, unknown: -1 } as const
const CONFINED = { yes: 1, no: 0, unknown: -1 } as const
const ZONE_DISRUPTIONS = allOf<StatusView['disruption']>({
  normal: true,
  partial: true,
  full: true,
})
const NO_NODES: Readonly<Record<NodeClassName, number>> = {
  ...{ healthy: 0, dead: 0, 'kubelet-sick': 0 },
  ...{ 'cloud-link-cut': 0, 'zone-link-cut': 0, undecided: 0 },
}

/** Which nodes have series of their own: `troubled` leaves out those without trouble. */
export type MetricsNodes = 'all' | 'troubled' | 'none'

const isTroubled = (node: NodeStatus): boolean =>
  node.class !== 'healthy' ||
  node.pending !== null ||
  node.local === 'down' ||
  node.cloudCutSince !== null ||
  node.vouch.state === 'active' ||
  node.kubelet === 'bad' ||
  (node.probe !== null && node.probe.vote !== 'up') ||
  (node.peer !== null && (node.peer.state !== 'ok' || isReplayable(node)))

const isReplayable = ({ peer }: NodeStatus): boolean =>
  peer?.dialect.startsWith('superedge') === true

/** Whether this agent is the first to write about the node: something is due, or it vouches. */
const isWrittenBy = (name: string, { nextWrite, vouch }: NodeStatus): boolean =>
  nextWrite?.ownRank === 0 || (vouch.state === 'active' && vouch.by === name)

const classMetrics = ({ nodes, self }: StatusView): readonly Metric[] => {
  const counts = { ...NO_NODES }
  for (const node of nodes) counts[node.class]++
  const written = nodes.filter(node => isWrittenBy(self.name, node)).length
  return [
    gauge('node_class', 'Nodes of the zone by class', ...countsBy('class', counts)),
    gauge('writer', 'Nodes about which this agent writes before any other', [written]),
  ]
}

const zoneMetrics = (status: StatusView): readonly Metric[] => {
  const { brake, self, version, zone } = status
  return [
    gauge('build_info', 'Always 1; the labels say what runs where', [
      1,
      { version, node: self.name, zone: zone.name },
    ]),
    gauge('uptime_seconds', 'Time since the agent started', [status.uptimeSeconds]),
    gauge('roster_members', 'Nodes that vote on each other here', [zone.members]),
    gauge('roster_from_disk', '1 while the roster comes from disk, not from the apiserver', [
      bit(status.roster.source === 'disk'),
    ]),
    gauge('cloud_link_up', '1 reachable, 0 cut, -1 not known yet', [
      CLOUD_LINK[status.cloudLink.state],
    ]),
    gauge(
      'confined',
      "1 the cluster refuses the agents' account what is not their job, 0 not, -1 not known",
      [CONFINED[status.confinement.state]],
    ),
    gauge(
      'zone_disruption',
      'How much of the zone looks dead: 1 for the present state, 0 for the others',
      ...stateSamples(ZONE_DISRUPTIONS, status.disruption),
    ),
    gauge('brake_on', '1 while the brake keeps further nodes from being marked unhealthy', [
      bit(brake.isOn),
    ]),
    gauge('brake_limit_nodes', 'Most nodes that may be marked unhealthy at one time', [
      brake.limit,
    ]),
    gauge('unhealthy_nodes', 'Nodes that the zone has found unhealthy', [brake.unhealthy]),
    gauge('self_suspect', '1 while own probes fail where those of other nodes succeed', [
      bit(status.selfSuspect),
    ]),
    gauge('correlated_failure', '1 while votes differ about many nodes at the same time', [
      bit(status.correlatedFailure),
    ]),
    gauge('disk_trouble', '1 while the state folder cannot be used', [
      bit(status.disk.trouble !== null),
    ]),
    gauge('keys_ok', '1 while a usable key ring is loaded', [bit(status.keys.state !== 'missing')]),
    gauge(
      'identity_members',
      'Members whose keys of their own are known, this one among them; 0 with --identity=off',
      [status.identity.members],
    ),
    gauge('keys_shared_members', 'Members that have the same set of keys, this one among them', [
      status.keys.sharedBy,
    ]),
  ]
}

/** One series for each node, except those of which `read` says null: there is nothing to say. */
type PerNode = (name: string, help: string, read: (node: NodeStatus) => number | null) => Metric

const perNodeOf =
  (nodes: readonly NodeStatus[]): PerNode =>
  (name, help, read) =>
    gauge(`node_${name}`, help, ...samplesOf(nodes, read, node => ({ peer: node.name })))

const ofProbe =
  (read: (probe: NonNullable<NodeStatus['probe']>) => number | null) =>
  ({ probe }: NodeStatus): number | null =>
    probe === null ? null : read(probe)

/** What is decided about each node, and done for it. */
const stateMetrics = (perNode: PerNode): readonly Metric[] => [
  perNode('up', '1 when /localinfo says that the node is reachable', ({ local }) =>
    bit(local === 'up'),
  ),
  perNode('verdict', '1 healthy, 0 undecided, -1 unhealthy', node => VERDICT[node.verdict]),
  perNode('cloud_cut', '1 while the node says that it does not reach the apiserver', node =>
    bit(node.cloudCutSince !== null),
  ),
  perNode(
    'kubelet_up',
    '1 healthy, 0 not, by the node itself; absent when it does not know',
    ({ kubelet }) => (kubelet === 'unknown' ? null : bit(kubelet === 'well')),
  ),
  perNode(
    'vouched',
    "1 while the zone renews the node's Lease, or takes its taint off, in its place",
    node => bit(node.vouch.state === 'active'),
  ),
  perNode(
    'maintenance',
    '1 while it is cordoned or its annotation edge-health/maintenance-until lies ahead: no alert; else absent',
    ({ maintenance }) => (maintenance === null ? null : 1),
  ),
]

/** What the zone's members say of each node. */
const voteMetrics = (perNode: PerNode): readonly Metric[] => [
  perNode('down_votes', 'Counted votes that say down', node => node.votes.down),
  perNode('up_votes', 'Counted votes that say up', node => node.votes.up),
  perNode(
    'not_looked_votes',
    'Voters that say neither up nor down about the node',
    n => n.votes.notLooked,
  ),
  perNode('record_age_seconds', "Age of the node's own record", node => node.recordAgeSeconds),
]

/** What this agent found out about each node itself. */
const probeMetrics = (perNode: PerNode): readonly Metric[] => [
  perNode(
    'probe_up',
    '1 when own probes of the node succeed; absent while there is no vote',
    ofProbe(({ vote }) => (vote === 'not-looked' ? null : bit(vote === 'up'))),
  ),
  perNode(
    'not_looked',
    '1 while own probes of the node cannot be made, were not made yet, or it flapped: no vote',
    ofProbe(({ vote }) => bit(vote === 'not-looked')),
  ),
  perNode(
    'probe_score',
    'Score of the last own round, 0 to 100',
    ofProbe(({ score }) => score),
  ),
  perNode(
    'probe_loss_ratio',
    'Share of first attempts that were missed, as measured lately',
    ofProbe(({ loss }) => loss),
  ),
]

/** How the exchange with each node's agent works. */
const peerMetrics = (perNode: PerNode): readonly Metric[] => [
  perNode('peer_ok', "1 when the exchange with the node's agent works", ({ peer }) =>
    peer === null ? null : bit(peer.state === 'ok'),
  ),
  perNode(
    'peer_replayable',
    "1 while the node's votes are results of a SuperEdge agent: anybody who recorded one can replay it",
    node => (node.peer === null ? null : bit(isReplayable(node))),
  ),
]

const nodeMetrics = (nodes: readonly NodeStatus[]): readonly Metric[] =>
  [stateMetrics, voteMetrics, probeMetrics, peerMetrics].flatMap(part => part(perNodeOf(nodes)))

const nodesOf = ({ nodes }: StatusView, which: MetricsNodes): readonly NodeStatus[] => {
  switch (which) {
    case 'all':
      return nodes
    case 'troubled':
      return nodes.filter(isTroubled)
    case 'none':
      return []
  }
}

/** What `/metrics` answers now. Series about a node have the label `peer`; `node` is the agent's own. */
export const agentMetricsText = (views: Views, which: MetricsNodes): string => {
  const status = views.status()
  return metricsText([
    ...zoneMetrics(status),
    ...classMetrics(status),
    ...(which === 'none' ? [] : nodeMetrics(nodesOf(status, which))),
    ...workMetrics(factory, status, views.counts()),
    ...processMetrics(factory),
  ])
}
