// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { HealthFeed } from '../health/feed.js'
import type { Persistence } from '../persistence.js'
import type { Proxy } from '../proxy/proxy.js'
import type { WrapperServer } from '../server.js'
import type { Explained } from '../store/pruned-table.js'
import { RESOURCES, type Resource } from '../store/resources.js'
import type { WrapperViews } from './routes.js'
import type {
  EndpointDecision,
  HealthView,
  ResourceView,
  WrapperStatusView,
} from './status-view.js'

/** Sources of the views. */
export interface Viewed {
  readonly clock: Clock
  readonly version: string
  readonly node: string
  readonly server: WrapperServer
  readonly proxy: Proxy
  readonly health: HealthFeed
  readonly persistence: Persistence
  readonly startedAt: number
  readonly connectionsEvicted: WrapperStatusView['connectionsEvicted']
  readonly apiserverTrouble: () => string | undefined
}

/** API servers send a bookmark about once a minute: after a longer silence the resource is stale. */
const STALE_MS = 120_000

const seconds = (ms: number): number => Math.max(0, Math.round(ms / 100) / 10)

const decisionView = ({ object, address, node, decision }: Explained): EndpointDecision => ({
  ...{ object, address, node: node ?? null, isKept: decision.keep, reason: decision.reason },
})

const healthOf = ({ health }: Viewed): HealthView => {
  const { ageMs, trouble, ...rest } = health.status
  return {
    ...rest,
    ageSeconds: ageMs === undefined ? null : seconds(ageMs),
    trouble: trouble ?? null,
  }
}

/** The status of a resource that is not followed. */
const NOT_WATCHING = { lists: 0, lastHeardAt: -Infinity, state: undefined, trouble: undefined }

/** Where the served objects came from. */
const sourceOf = (
  lists: number,
  isAbsent: boolean,
  savedAt: number | undefined,
): ResourceView['source'] => {
  if (lists > 0) return 'api'
  if (isAbsent) return 'absent'
  return savedAt === undefined ? 'none' : 'disk'
}

const resourceOf = (viewed: Viewed, resource: Resource): ResourceView => {
  const { server, clock, persistence } = viewed
  const table = server.store.table(resource)
  const watching = server.upstream[resource]
  const savedAt = persistence.servedFromDisk.get(resource)
  const { lists, lastHeardAt, state, trouble } = watching ?? NOT_WATCHING
  const heardMs = clock.now() - lastHeardAt
  const source = sourceOf(lists, table.state === 'absent', savedAt)
  const isBehind = state !== 'watching' || heardMs > STALE_MS
  const ages = {
    ...{ api: seconds(heardMs), none: null, absent: null },
    disk: savedAt === undefined ? null : seconds(clock.wall() - savedAt),
  }
  return {
    ...{ resource, source, objects: table.size, ageSeconds: ages[source] },
    isStale: source === 'disk' || (source === 'api' && isBehind),
    lists,
    watchers: server.reads.watches.openOf(resource),
    trouble: trouble ?? null,
  }
}

/** The error in the own node's name, if any. */
const nodeTroubleOf = ({ server, node }: Viewed): string | null => {
  const nodes = server.store.table('nodes')
  if (nodes.state !== 'filled' || nodes.get(node) !== undefined) return null
  return `the cluster has no Node ${node}: --hostname must be the Node's name`
}

/** Resources that every apiserver serves: a 404 for them comes from a proxy in front of it. */
const ALWAYS_SERVED: readonly string[] = ['nodes', 'services']

const isMissing = ({ resource, source }: ResourceView): boolean =>
  source === 'none' || (source === 'absent' && ALWAYS_SERVED.includes(resource))

const readinessOf = (
  resources: readonly ResourceView[],
  nodeTrouble: string | null,
): WrapperStatusView['ready'] => {
  const needed = resources.filter(({ resource }) => resource !== 'endpoints')
  const missing = needed.filter(isMissing).map(({ resource }) => resource)
  if (missing.length > 0) return { isReady: false, reason: `not known yet: ${missing.join(', ')}` }
  if (nodeTrouble !== null) return { isReady: false, reason: nodeTrouble }
  const old = needed.filter(({ source }) => source === 'disk').map(({ resource }) => resource)
  return { isReady: true, reason: old.length > 0 ? `from disk: ${old.join(', ')}` : 'ok' }
}

const neighboursOf = ({ server }: Viewed): WrapperStatusView['neighbours'] =>
  server.neighbours.map(({ label, value, how, trouble }) => ({
    ...{ label, value, how, trouble: trouble ?? null },
    nodes: server.store.neighbours.get(label)?.names.size ?? null,
  }))

/** Views of a running wrapper. */
export const makeViews = (viewed: Viewed): WrapperViews => {
  const { clock, version, node, server, proxy, persistence, startedAt } = viewed
  const at = (): string => new Date(clock.wall()).toISOString()
  return {
    status: () => {
      const resources = RESOURCES.map(resource => resourceOf(viewed, resource))
      const nodeTrouble = nodeTroubleOf(viewed)
      const { watches, counts } = server.reads
      const { upgraded, unreachable, passed } = proxy.counts
      const { accepted, sent, dropped, refused } = proxy.events.counts
      return {
        ...{ version, at: at(), node, nodeTrouble, resources },
        apiserverTrouble: viewed.apiserverTrouble() ?? null,
        uptimeSeconds: seconds(clock.now() - startedAt),
        ready: readinessOf(resources, nodeTrouble),
        neighbours: neighboursOf(viewed),
        health: healthOf(viewed),
        malformed: [...server.store.keptKeys.keys()],
        requests: { ...counts, passed, upgraded, unreachable },
        watchEvents: {
          ...{ written: watches.events, encoded: watches.encoded },
          ...{ overtaken: watches.overtaken, failed: watches.failed },
        },
        events: {
          ...{ waiting: proxy.events.length, bytes: proxy.events.bytes },
          ...{ accepted, sent, dropped, refused },
        },
        connectionsEvicted: { ...viewed.connectionsEvicted },
        disk: { writes: persistence.lists.writes, trouble: persistence.lists.trouble ?? null },
      }
    },
    explain: service => {
      const { rule, slices, endpoints } = server.store.explain(service)
      if (rule === undefined && slices.length + endpoints.length === 0) return undefined
      return {
        ...{ version, at: at(), node, service, isKnown: rule !== undefined },
        topologyKeys: rule?.keys ?? [],
        topologyTrouble: rule?.trouble ?? null,
        health: healthOf(viewed),
        slices: slices.map(decisionView),
        endpoints: endpoints.map(decisionView),
      }
    },
  }
}
