// SPDX-License-Identifier: Apache-2.0
import { memoryUsage, cpuUsage } from 'node:process'
import type { NodeStatus, StatusView } from './status-view.js'
import type { Counts, Views } from './views.js'

/** A value and its labels' values, in the order of the row's label names. */
type Sample = readonly [value: number, ...labels: readonly string[]]

/** One metric: what it means and how it is read. At most one label that grows with the zone. */
export interface MetricRow {
  readonly name: string
  readonly kind: 'gauge' | 'counter'
  readonly help: string
  readonly labels: readonly string[]
  read(): readonly Sample[]
}

/** All metrics over one view that `refresh` renews. */
export interface MetricTable {
  readonly rows: readonly MetricRow[]
  refresh(): void
}

const bit = (is: boolean): number => (is ? 1 : 0)
const VERDICT = { healthy: 1, undecided: 0, unhealthy: -1 } as const

const oneOf = (states: readonly string[], now: string): readonly Sample[] =>
  states.map(state => [bit(state === now), state])

/** The metrics; names are `edge_health_…` with their unit, `_total` on counters alone. */
export const metricTable = (views: Views): MetricTable => {
  let status: StatusView = views.status()
  let counts: Counts = views.counts()

  const gauge = (name: string, help: string, read: () => number): MetricRow => ({
    name: `edge_health_${name}`,
    kind: 'gauge',
    help,
    labels: [],
    read: () => [[read()]],
  })
  const states = (
    name: string,
    help: string,
    all: readonly string[],
    now: () => string,
  ): MetricRow => ({
    name: `edge_health_${name}`,
    kind: 'gauge',
    help: `${help}: 1 for the present state, 0 for the others`,
    labels: ['state'],
    read: () => oneOf(all, now()),
  })
  /** One series for each node of the zone; a node of which nothing is known has none. */
  const perNode = (
    name: string,
    help: string,
    read: (node: NodeStatus) => number | null,
  ): MetricRow => ({
    name: `edge_health_node_${name}`,
    kind: 'gauge',
    help,
    labels: ['node'],
    read: () =>
      status.nodes.flatMap((node): readonly Sample[] => {
        const value = read(node)
        return value === null ? [] : [[value, node.name]]
      }),
  })
  const counter = (
    name: string,
    help: string,
    labels: readonly string[],
    read: () => readonly Sample[],
  ): MetricRow => ({ name: `edge_health_${name}_total`, kind: 'counter', help, labels, read })

  const rows: readonly MetricRow[] = [
    {
      name: 'edge_health_build_info',
      kind: 'gauge',
      help: 'Always 1; version, own node and zone stand in the labels',
      labels: ['version', 'node', 'zone'],
      read: () => [[1, status.version, status.self.name, status.zone.name]],
    },
    gauge('uptime_seconds', 'Seconds since the agent started', () => status.uptimeSeconds),
    gauge('roster_members', 'Nodes that vote on each other here', () => status.zone.members),
    gauge(
      'roster_from_disk',
      '1 while the roster comes from disk, since the cloud is out of reach',
      () => bit(status.roster.source === 'disk'),
    ),
    gauge('cloud_link_up', '1 reachable, 0 cut, -1 not known yet', () =>
      status.cloudLink.state === 'up' ? 1 : status.cloudLink.state === 'cut' ? 0 : -1,
    ),
    states(
      'zone_disruption',
      'How much of the zone looks dead',
      ['normal', 'partial', 'full'],
      () => status.disruption,
    ),
    gauge('brake_on', '1 while the brake keeps the zone from being condemned', () =>
      bit(status.brake.isOn),
    ),
    gauge(
      'brake_limit_nodes',
      'Most nodes that may be condemned at one time',
      () => status.brake.limit,
    ),
    gauge('unhealthy_nodes', 'Nodes that the zone has condemned', () => status.brake.unhealthy),
    gauge('self_suspect', '1 while the own probes fail where those of others succeed', () =>
      bit(status.selfSuspect),
    ),
    gauge('correlated_failure', '1 while many nodes are contested at the same time', () =>
      bit(status.correlatedFailure),
    ),
    gauge('keys_ok', '1 while a usable key ring is loaded', () =>
      bit(status.keys.state !== 'missing'),
    ),
    perNode('up', '1 when /localinfo says that the node is reachable', node =>
      bit(node.local === 'up'),
    ),
    perNode('verdict', '1 healthy, 0 undecided, -1 unhealthy', node => VERDICT[node.verdict]),
    perNode('cloud_cut', '1 when the node says that it does not reach the apiserver', node =>
      bit(node.cloudCutSince !== null),
    ),
    perNode(
      'kubelet_up',
      '1 well, 0 bad, by the node itself; absent when it does not know',
      node => (node.kubelet === 'unknown' ? null : bit(node.kubelet === 'well')),
    ),
    perNode('vouched', "1 while the node's Lease (or taint) is kept for it", node =>
      bit(node.vouch.state === 'active'),
    ),
    perNode('down_votes', 'Counted votes that say down', node => node.votes.down),
    perNode('up_votes', 'Counted votes that say up', node => node.votes.up),
    perNode('record_age_seconds', "Age of the node's own record", node => node.recordAgeSeconds),
    perNode(
      'probe_up',
      '1 when own probes of the node succeed; absent while they say nothing',
      node =>
        node.probe === null || node.probe.vote === 'not-looked'
          ? null
          : bit(node.probe.vote === 'up'),
    ),
    perNode(
      'not_looked',
      '1 while own probes of the node cannot be made, or were not made yet: no vote',
      node => (node.probe === null ? null : bit(node.probe.vote === 'not-looked')),
    ),
    perNode(
      'not_looked_votes',
      'Voters that could not look at the node',
      node => node.votes.notLooked,
    ),
    perNode(
      'probe_score',
      'Score of the last own round, 0 to 100',
      node => node.probe?.score ?? null,
    ),
    perNode(
      'probe_loss_ratio',
      'Share of first attempts that were missed',
      node => node.probe?.loss ?? null,
    ),
    perNode('peer_ok', "1 when the exchange with the node's agent works", node =>
      node.peer === null ? null : bit(node.peer.state === 'ok'),
    ),
    perNode(
      'peer_replayable',
      "1 while the node's votes are results of a SuperEdge agent: whoever recorded one can send it again",
      node => (node.peer === null ? null : bit(node.peer.dialect.startsWith('superedge'))),
    ),
    {
      name: 'edge_health_stage_ok',
      kind: 'gauge',
      help: '1 when the last round of the stage went well, 0 when it failed, -1 before the first',
      labels: ['stage'],
      read: () =>
        status.stages.map(({ name, state }) => [
          state === 'ok' ? 1 : state === 'failing' ? 0 : -1,
          name,
        ]),
    },
    counter('stage_rounds', 'Rounds begun by each stage', ['stage'], () =>
      status.stages.map(({ name, rounds }) => [rounds, name]),
    ),
    counter(
      'probe_rounds',
      'Finished probe rounds by result; void: trouble of our own',
      ['result'],
      () => Object.entries(counts.probeRounds).map(([result, count]) => [count, result]),
    ),
    counter('probe_attempts', 'Probe attempts', [], () => [[counts.probeAttempts]]),
    counter('flips', 'Changes of own probes, of the local view, and of verdicts', ['what'], () =>
      Object.entries(counts.flips).map(([what, count]) => [count, what]),
    ),
    counter('exchange_sent_bytes', 'Bytes of messages sent to peers', [], () => [
      [counts.exchange.sentBytes],
    ]),
    counter('exchange_received_bytes', 'Bytes of messages received from peers', [], () => [
      [counts.exchange.receivedBytes],
    ]),
    counter('exchange_messages', 'Messages by what became of them', ['result'], () => [
      [counts.exchange.sent, 'sent'],
      [counts.exchange.failed, 'failed'],
      [counts.exchange.received, 'received'],
    ]),
    counter('exchange_refused', 'Messages of peers that were not believed', ['reason'], () =>
      Object.entries(counts.exchange.refused).map(([reason, count]) => [count, reason]),
    ),
    counter('api_writes', 'Writes to the Kubernetes API', ['kind', 'result'], () =>
      counts.writes.map(({ kind, result, count }) => [count, kind, result]),
    ),
    counter('watch_lists', 'Full lists that watches had to take', [], () => [[counts.watchLists]]),
    counter(
      'config_problems',
      'ConfigMaps or Secrets that could not be read and were kept out',
      [],
      () => [[counts.configProblems]],
    ),
    counter(
      'suspensions',
      'Times that this agent, or its machine, stood still for more than 5 s and began anew',
      [],
      () => [[counts.suspensions]],
    ),
    counter(
      'connections_evicted',
      'Connections that were closed to make room for others',
      ['listener'],
      () => Object.entries(counts.connectionsEvicted).map(([listener, count]) => [count, listener]),
    ),
    gauge('resident_memory_bytes', 'Memory of the agent that is in RAM', () => memoryUsage.rss()),
    counter('cpu_seconds', 'CPU time of the agent', [], () => {
      const { user, system } = cpuUsage()
      return [[(user + system) / 1e6]]
    }),
  ]
  return {
    rows,
    refresh: () => {
      status = views.status()
      counts = views.counts()
    },
  }
}
