// SPDX-License-Identifier: Apache-2.0
// Zones and nodes as the cluster's API alone shows them, computed from what was read. The JSON of `cluster`.
import type { LeaseView } from '../agent/ports/kube-api.js'
import { zoneRuleOf, type ZoneRule } from '../agent/stages/node-list/zone-rule.js'
import { maintenanceOf, maintenanceTrouble, type Maintenance } from '../core/maintenance.js'
import {
  NOT_READY_TAINT,
  OWN_PREFIX,
  PEER_HEALTH,
  REASON_ANNOTATION,
  UNHEALTHY_ANNOTATION,
  UNREACHABLE_TAINT,
  VOUCHED_LABEL,
} from '../core/marks.js'
import type { NodeCondition, NodeView, Taint } from '../core/node.js'
import { lengthMsOf } from '../plan/lease.js'
import type { ClusterEvent, ClusterLook } from './cluster-look.js'

/** Like the agents' classes. `not-ready`: the control plane does not consider it ready, and no peer has reported on it. */
export type ClusterClass = 'healthy' | 'dead' | 'kubelet-sick' | 'cloud-link-cut' | 'not-ready'

interface ConditionView {
  readonly status: NodeCondition['status']
  readonly reason: string | null
  readonly message: string | null
  /** Since when, ISO 8601. */
  readonly since: string | null
}

/** One Node. All instants are ISO 8601; null means no value. */
export interface ClusterNode {
  readonly name: string
  readonly address: string | null
  /** Null for a node that is in no zone; `rule` says why. */
  readonly zone: string | null
  readonly rule: string
  readonly class: ClusterClass
  readonly since: string | null
  /** As the kubelet reports it, or the control plane in its place. */
  readonly ready: ConditionView | null
  /** What the peers wrote. */
  readonly peerHealth: ConditionView | null
  /** The annotations of a condemned node. */
  readonly isMarkedUnhealthy: boolean
  readonly reason: string | null
  /** Its peers vouch for it. */
  readonly isVouched: boolean
  readonly maintenance: Maintenance | null
  /** Why the annotation about maintenance is not used. */
  readonly maintenanceTrouble: string | null
  readonly lease: {
    readonly renewedAt: string | null
    readonly ageSeconds: number | null
    readonly isExpired: boolean
    readonly by: 'kubelet' | 'peers' | 'unknown'
  } | null
  /** Ours and the control plane's: `key=value:Effect`. */
  readonly taints: readonly string[]
  /** Newest first. */
  readonly events: readonly ClusterEvent[]
}

/** One zone. */
export interface ClusterZone {
  readonly name: string
  readonly rule: string
  readonly nodes: number
  readonly classes: Readonly<Record<ClusterClass, number>>
  /** How many of the nodes are in maintenance. */
  readonly inMaintenance: number
  /** Every node's Ready is Unknown: the link of the whole zone may be cut, and then no agent there can write. */
  readonly isUnheard: boolean
  /** From the newest Event about it; null when there is none: the API deletes Events, usually after an hour. */
  readonly brake: { readonly isOn: boolean; readonly at: string; readonly note: string } | null
  readonly lastEvent: ClusterEvent | null
}

export interface ClusterView {
  readonly at: string
  readonly notes: readonly string[]
  /** By name. */
  readonly zones: readonly ClusterZone[]
  /** By zone and name. */
  readonly nodes: readonly ClusterNode[]
}

const conditionOf = ({ conditions }: NodeView, type: string): ConditionView | null => {
  const found = conditions.find(condition => condition.type === type)
  if (found === undefined) return null
  const { status, reason, message, lastTransitionTime } = found
  return {
    status,
    reason: reason ?? null,
    message: message ?? null,
    since: lastTransitionTime ?? null,
  }
}

const classOf = (
  node: NodeView,
  ready: ConditionView | null,
  peers: ConditionView | null,
): ClusterClass => {
  if (peers?.status === 'False') return peers.reason === 'KubeletSick' ? 'kubelet-sick' : 'dead'
  // SuperEdge's agents write the annotation alone.
  if (node.annotations[UNHEALTHY_ANNOTATION] !== undefined) return 'dead'
  if (peers?.reason === 'CloudLinkCut' || node.labels[VOUCHED_LABEL] !== undefined)
    return 'cloud-link-cut'
  return ready?.status === 'True' ? 'healthy' : 'not-ready'
}

const taintText = ({ key, value, effect }: Taint): string =>
  `${key}${value === undefined ? '' : `=${value}`}:${effect}`

const isShownTaint = ({ key }: Taint): boolean =>
  key.startsWith(OWN_PREFIX) || key === UNREACHABLE_TAINT || key === NOT_READY_TAINT

const leaseOf = (lease: LeaseView | undefined, now: number): ClusterNode['lease'] => {
  if (lease === undefined) return null
  const at = Date.parse(lease.renewTime ?? '')
  const isKnown = !Number.isNaN(at)
  const by = lease.renewal === undefined ? 'unknown' : lease.renewal.isByAgent ? 'peers' : 'kubelet'
  return {
    renewedAt: isKnown ? new Date(at).toISOString() : null,
    ageSeconds: isKnown ? Math.max(0, now - at) / 1_000 : null,
    isExpired: !isKnown || now - at > lengthMsOf(lease),
    by,
  }
}

const nodeOf = (node: NodeView, rule: ZoneRule, look: ClusterLook): ClusterNode => {
  const ready = conditionOf(node, 'Ready')
  const peerHealth = conditionOf(node, PEER_HEALTH)
  const name = classOf(node, ready, peerHealth)
  return {
    name: node.name,
    address: node.internalIPs[0] ?? null,
    zone: rule.kind === 'selector' ? rule.zone : null,
    rule: rule.why,
    class: name,
    since: (name === 'not-ready' ? ready : (peerHealth ?? ready))?.since ?? null,
    ...{ ready, peerHealth },
    isMarkedUnhealthy: node.annotations[UNHEALTHY_ANNOTATION] !== undefined,
    reason: node.annotations[REASON_ANNOTATION] ?? null,
    isVouched: node.labels[VOUCHED_LABEL] !== undefined,
    maintenance: maintenanceOf(node, look.now) ?? null,
    maintenanceTrouble: maintenanceTrouble(node, look.now) ?? null,
    lease: leaseOf(look.leases.get(node.name), look.now),
    taints: node.taints.filter(isShownTaint).map(taintText),
    events: look.events.filter(event => event.node === node.name),
  }
}

const BRAKE_REASONS: ReadonlySet<string> = new Set(['ZoneBrakeOn', 'ZoneBrakeOff'])

const NO_NODES: Readonly<Record<ClusterClass, number>> = {
  ...{ healthy: 0, dead: 0, 'kubelet-sick': 0, 'cloud-link-cut': 0, 'not-ready': 0 },
}

const zoneOf = (name: string, nodes: readonly ClusterNode[]): ClusterZone => {
  const classes = { ...NO_NODES }
  for (const node of nodes) classes[node.class]++
  const events = nodes.flatMap(node => node.events).sort((a, b) => (a.at < b.at ? 1 : -1))
  const brake = events.find(({ reason }) => BRAKE_REASONS.has(reason))
  return {
    name,
    rule: nodes[0]?.rule ?? '',
    nodes: nodes.length,
    classes,
    inMaintenance: nodes.filter(({ maintenance }) => maintenance !== null).length,
    isUnheard: nodes.every(({ ready }) => ready?.status === 'Unknown'),
    brake:
      brake === undefined
        ? null
        : { isOn: brake.reason === 'ZoneBrakeOn', at: brake.at, note: brake.note },
    lastEvent: events[0] ?? null,
  }
}

/** Sorts by zone and name; nodes without a zone come last. */
const byZone = (a: ClusterNode, b: ClusterNode): number => {
  if (a.zone === b.zone) return a.name < b.name ? -1 : 1
  if (a.zone === null || b.zone === null) return a.zone === null ? 1 : -1
  return a.zone < b.zone ? -1 : 1
}

/** Members by label and ConfigMaps; which nodes `--edge-selector` leaves out is not known here. */
export const clusterView = (look: ClusterLook): ClusterView => {
  const nodes = look.nodes
    .map(node => nodeOf(node, zoneRuleOf(node, look.config, ''), look))
    .sort(byZone)
  const names = [...new Set(nodes.flatMap(({ zone }) => (zone === null ? [] : [zone])))]
  return {
    at: new Date(look.now).toISOString(),
    notes: look.notes,
    zones: names.map(name =>
      zoneOf(
        name,
        nodes.filter(({ zone }) => zone === name),
      ),
    ),
    nodes,
  }
}

/** Whether somebody has to look at it; not during announced maintenance. */
export const isAlarming = (node: Pick<ClusterNode, 'class' | 'zone' | 'maintenance'>): boolean =>
  node.zone !== null &&
  node.maintenance === null &&
  (node.class === 'dead' || node.class === 'kubelet-sick')
