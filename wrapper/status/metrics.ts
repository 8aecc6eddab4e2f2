// SPDX-License-Identifier: Apache-2.0
import { cpuUsage, memoryUsage } from 'node:process'
import type { WrapperStatusView } from './status-view.js'

type Sample = readonly [value: number, labels?: Readonly<Record<string, string>>]

interface Row {
  readonly name: string
  readonly kind: 'gauge' | 'counter'
  readonly help: string
  readonly samples: readonly Sample[]
}

const bit = (is: boolean): number => (is ? 1 : 0)

const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

const labelText = (labels: Readonly<Record<string, string>> = {}): string => {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return parts.length === 0 ? '' : `{${parts.join(',')}}`
}

const rowText = ({ name, kind, help, samples }: Row): string => {
  const full = `edge_health_wrapper_${name}`
  const lines = samples.map(([value, labels]) => `${full}${labelText(labels)} ${value}`)
  return [`# HELP ${full} ${help}`, `# TYPE ${full} ${kind}`, ...lines].join('\n')
}

const states = (all: readonly string[], now: string): readonly Sample[] =>
  all.map(state => [bit(state === now), { state }])

/** Of each resource. */
const perResource = (
  { resources }: WrapperStatusView,
  read: (view: WrapperStatusView['resources'][number]) => number | null,
): readonly Sample[] =>
  resources.flatMap((view): readonly Sample[] => {
    const value = read(view)
    return value === null ? [] : [[value, { resource: view.resource }]]
  })

const HEALTH = ['off', 'waiting', 'fresh', 'last-known', 'expired']

const rowsOf = (view: WrapperStatusView): readonly Row[] => {
  const { requests, watchEvents, events, health, disk } = view
  const gauge = (name: string, help: string, ...samples: readonly Sample[]): Row => ({
    ...{ name, kind: 'gauge', help, samples },
  })
  const counter = (name: string, help: string, ...samples: readonly Sample[]): Row => ({
    ...{ name: `${name}_total`, kind: 'counter', help, samples },
  })
  const byKind = (counts: object): readonly Sample[] =>
    Object.entries(counts).map(([kind, count]) => [count as number, { kind }])
  const { user, system } = cpuUsage()
  return [
    gauge('build_info', 'Always 1; the labels say what runs', [1, { version: view.version }]),
    gauge('ready', '1 when every resource can be served', [bit(view.ready.isReady)]),
    gauge('own_node_missing', '1 while the cluster has no Node of the name of this one', [
      bit(view.nodeTrouble !== null),
    ]),
    gauge('objects', 'Objects that are held', ...perResource(view, r => r.objects)),
    gauge(
      'stale',
      '1 while the apiserver says nothing about the resource and what is served may be old',
      ...perResource(view, r => bit(r.isStale)),
    ),
    gauge(
      'age_seconds',
      "Since the apiserver's last word",
      ...perResource(view, r => r.ageSeconds),
    ),
    gauge('watchers', 'Watches of clients that are open', ...perResource(view, r => r.watchers)),
    counter('upstream_lists', 'Full lists from the apiserver', ...perResource(view, r => r.lists)),
    counter('requests', 'Requests of clients, by what became of them', ...byKind(requests)),
    counter(
      'watch_events',
      'Events of watches; overtaken and failed: watches that were ended for a slow client, or for an object that cannot be told',
      ...byKind(watchEvents),
    ),
    gauge('health_state', 'How the health of nodes is known', ...states(HEALTH, health.state)),
    gauge('health_nodes', 'Nodes of which health is known', [health.nodes]),
    gauge('health_dead_nodes', 'Nodes that the agent calls dead', [health.dead.length]),
    gauge('topology_malformed', 'Services whose topologyKeys cannot be read', [
      view.malformed.length,
    ]),
    counter('health_connects', "Streams of the agent's that were opened", [health.connects]),
    gauge('events_waiting', 'Events that wait for the apiserver', [events.waiting]),
    gauge('events_waiting_bytes', 'Bytes of them', [events.bytes]),
    counter(
      'events',
      'Events that had to wait, by what became of them; dropped ones were refused when the buffer was full',
      ...byKind({
        accepted: events.accepted,
        sent: events.sent,
        dropped: events.dropped,
        refused: events.refused,
      }),
    ),
    counter(
      'connections_evicted',
      'Connections that were closed to make room for others',
      ...Object.entries(view.connectionsEvicted).map(([listener, n]): Sample => [n, { listener }]),
    ),
    counter('disk_writes', 'Lists that were written to disk', [disk.writes]),
    gauge('disk_trouble', '1 while the disk cannot be used', [bit(disk.trouble !== null)]),
    gauge('uptime_seconds', 'Since the start', [view.uptimeSeconds]),
    gauge('resident_memory_bytes', 'Memory of the process', [memoryUsage.rss()]),
    counter('cpu_seconds', 'CPU time of the process', [(user + system) / 1e6]),
  ]
}

/** The media type of `metricsText`. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** `/metrics`: everything from one view. */
export const metricsText = (view: WrapperStatusView): string =>
  `${rowsOf(view).map(rowText).join('\n')}\n`
