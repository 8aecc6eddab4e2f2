// SPDX-License-Identifier: Apache-2.0
// Reads everything about nodes and zones from the cluster's API at once: Nodes, Leases, Events, and the zones' ConfigMaps.
import * as v from 'valibot'
import { parseConfigMap } from '../agent/adapters/data-view.js'
import { parseLease } from '../agent/adapters/lease-view.js'
import { parseNodeView } from '../agent/adapters/node-view.js'
import { WRITER, type DataView, type LeaseView } from '../agent/ports/kube-api.js'
import {
  parseUnits,
  parseZones,
  UNIT_CONFIG,
  ZONE_CONFIG,
  type ZoneConfig,
} from '../agent/stages/node-list/zone-config.js'
import {
  EdgeHealthError,
  InvalidInputError,
  KubeStatusError,
  KubeUnreachableError,
  reasonOf,
} from '../core/errors.js'
import type { NodeView } from '../core/node.js'
import { parseWith } from '../core/parse.js'
import { listPages } from '../grids/run/list-pages.js'
import { EVENTS } from '../kube/client/event-body.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import type { ResourceType } from '../kube/client/resource.js'

/** An Event of an agent. */
export interface ClusterEvent {
  /** ISO 8601. */
  readonly at: string
  readonly type: string
  readonly reason: string
  readonly note: string
  /** The Node that it is about. */
  readonly node: string
  /** The agent that sent it. */
  readonly by: string
}

/** Everything that was read, at one instant. */
export interface ClusterLook {
  /** Epoch ms, by the apiserver's clock where it has one. */
  readonly now: number
  readonly nodes: readonly NodeView[]
  readonly leases: ReadonlyMap<string, LeaseView>
  /** Newest first. */
  readonly events: readonly ClusterEvent[]
  readonly config: ZoneConfig
  /** What could not be read, and the consequence. */
  readonly notes: readonly string[]
}

const NODES: ResourceType<NodeView> = {
  ...{ group: '', version: 'v1', resource: 'nodes', parse: parseNodeView },
}
const LEASES: ResourceType<LeaseView> = {
  ...{ group: 'coordination.k8s.io', version: 'v1', resource: 'leases', parse: parseLease },
}
const CONFIG_MAPS: ResourceType<DataView> = {
  ...{ group: '', version: 'v1', resource: 'configmaps', parse: parseConfigMap },
}

const eventSchema = v.object({
  metadata: v.object({ creationTimestamp: v.nullish(v.string(), '') }),
  eventTime: v.nullish(v.string()),
  type: v.nullish(v.string(), ''),
  reason: v.nullish(v.string(), ''),
  note: v.nullish(v.string(), ''),
  regarding: v.object({ kind: v.nullish(v.string(), ''), name: v.nullish(v.string(), '') }),
  reportingInstance: v.nullish(v.string(), ''),
})

const parseEvent = (raw: unknown): ClusterEvent => {
  const event = parseWith(eventSchema, 'Event', raw)
  const { type, reason, note, reportingInstance: by, metadata, regarding } = event
  const at = event.eventTime ?? metadata.creationTimestamp
  const node = regarding.kind === 'Node' ? regarding.name : ''
  return { at, type, reason, note, node, by }
}

const all = async <T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> => {
  const items: T[] = []
  for await (const page of pages) items.push(...page)
  return items
}

/** Leave out what the account may not read, and note it. */
const orNote = async <T>(
  read: Promise<T>,
  without: T,
  { notes, what }: { readonly notes: string[]; readonly what: string },
): Promise<T> => {
  try {
    return await read
  } catch (error) {
    const isRefused = error instanceof KubeStatusError && [403, 404].includes(error.status)
    if (!isRefused && !(error instanceof InvalidInputError)) throw error
    notes.push(`${what}: ${reasonOf(error)}`)
    return without
  }
}

/** The present content of the two ConfigMaps. Rejects as ResourceClient does, and with InvalidInputError. */
export const readZoneConfig = async (
  client: ResourceClient,
  namespace: string,
  signal: AbortSignal,
): Promise<ZoneConfig> => {
  // By lists: doctor uses the agents' account, whose rights on these ConfigMaps are list and watch, not get.
  const dataOf = async (name: string): Promise<DataView['data'] | undefined> => {
    const which = { namespace, fieldSelector: `metadata.name=${name}` }
    const { items } = await client.list(CONFIG_MAPS, which, signal)
    return items[0]?.data
  }
  const [zones, units] = await Promise.all([dataOf(ZONE_CONFIG), dataOf(UNIT_CONFIG)])
  return {
    zones: zones === undefined ? undefined : parseZones(zones),
    units: units === undefined ? undefined : parseUnits(units),
  }
}

/** Zones by label, for when the ConfigMaps cannot be read. */
const BY_LABEL: ZoneConfig = { zones: { isOn: true }, units: undefined }

/** Rejects as ResourceClient does when the Nodes cannot be read. */
export const lookAtCluster = async (
  client: ResourceClient,
  { namespace, wall }: { readonly namespace: string; readonly wall: () => number },
  signal: AbortSignal,
): Promise<ClusterLook> => {
  const notes: string[] = []
  const ours = { namespace: 'default', fieldSelector: `reportingController=${WRITER}` }
  const events = listPages(client, { ...EVENTS, parse: parseEvent }, ours, signal)
  const leases = listPages(client, LEASES, { namespace: 'kube-node-lease' }, signal)
  const [nodes, found, sent, config] = await Promise.all([
    all(listPages(client, NODES, {}, signal)),
    orNote(all(leases), [], { notes, what: 'Leases cannot be read, so none is shown' }),
    orNote(all(events), [], { notes, what: 'Events cannot be read, so none is shown' }),
    orNote(readZoneConfig(client, namespace, signal), BY_LABEL, {
      notes,
      what: `the ConfigMaps of ${namespace} cannot be used, so zones are taken from the label`,
    }),
  ])
  return {
    now: client.serverTime() ?? wall(),
    nodes,
    leases: new Map(found.map(lease => [lease.name, lease])),
    events: sent.filter(({ node }) => node !== '').sort((a, b) => (a.at < b.at ? 1 : -1)),
    ...{ config, notes },
  }
}

/** Whether the error means that the cluster could not be read at all. */
export const isClusterTrouble = (error: unknown): error is EdgeHealthError =>
  error instanceof KubeStatusError ||
  error instanceof KubeUnreachableError ||
  (error instanceof EdgeHealthError && error.code === 'CREDENTIALS')
