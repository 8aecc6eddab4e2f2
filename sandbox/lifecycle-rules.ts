// SPDX-License-Identifier: Apache-2.0
import type { Taint } from '../core/node.js'
import { NOT_READY_TAINT, UNREACHABLE_TAINT } from '../core/marks.js'
import {
  apiTime,
  type Condition,
  conditionsOf,
  type NodeObject,
  readyOf,
  taintsOf,
} from './node-object.js'

/** What the controller remembers of a node; times are its own clock's, since a node's clock proves nothing. */
export interface NodeHealth {
  /** When the last heartbeat was noticed. */
  readonly probeAt: number
  /** `lastHeartbeatTime` of the Ready condition, when there was one. */
  readonly heartbeat: string | undefined
  readonly hadReady: boolean
  /** The latest that was ever seen: a Lease whose time went back is not a heartbeat, even when it grows again. */
  readonly renewTime: string | undefined
}

/** What the API shows of a node at one moment. */
interface NodeSignals {
  readonly ready: Condition | undefined
  readonly renewTime: string | undefined
}

/** Any change of the heartbeat in the status counts; a Lease counts only when it was renewed to a later time. */
const isHeartbeat = (health: NodeHealth, signals: NodeSignals): boolean => {
  if ((signals.ready !== undefined) !== health.hadReady) return true
  if (signals.ready !== undefined && signals.ready.lastHeartbeatTime !== health.heartbeat)
    return true
  return isLater(signals.renewTime, health.renewTime)
}

const isLater = (renewTime: string | undefined, last: string | undefined): boolean =>
  renewTime !== undefined && (last === undefined || renewTime > last)

/** The new state of a node after looking at it. */
export const observe = (
  health: NodeHealth | undefined,
  signals: NodeSignals,
  now: number,
): NodeHealth => ({
  probeAt: health === undefined || isHeartbeat(health, signals) ? now : health.probeAt,
  heartbeat: signals.ready?.lastHeartbeatTime,
  hadReady: signals.ready !== undefined,
  renewTime: isLater(signals.renewTime, health?.renewTime) ? signals.renewTime : health?.renewTime,
})

const JUDGED = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

/** The conditions of a node whose kubelet went silent, in the words of Kubernetes. */
export const silentConditions = (node: NodeObject, wall: number): Condition[] => {
  const now = apiTime(wall)
  const known = conditionsOf(node)
  const silenced = known.map(condition =>
    !JUDGED.includes(condition.type) || condition.status === 'Unknown'
      ? condition
      : {
          ...condition,
          status: 'Unknown' as const,
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
          lastTransitionTime: now,
        },
  )
  const missing = JUDGED.filter(type => !known.some(condition => condition.type === type))
  return [
    ...silenced,
    ...missing.map(type => ({
      type,
      status: 'Unknown' as const,
      reason: 'NodeStatusNeverUpdated',
      message: 'Kubelet never posted node status.',
      lastHeartbeatTime: node.metadata.creationTimestamp,
      lastTransitionTime: now,
    })),
  ]
}

const PRESSURE_TAINTS: Readonly<Record<string, string>> = {
  MemoryPressure: 'node.kubernetes.io/memory-pressure',
  DiskPressure: 'node.kubernetes.io/disk-pressure',
  PIDPressure: 'node.kubernetes.io/pid-pressure',
  NetworkUnavailable: 'node.kubernetes.io/network-unavailable',
}

const MANAGED = [
  NOT_READY_TAINT,
  UNREACHABLE_TAINT,
  'node.kubernetes.io/unschedulable',
  ...Object.values(PRESSURE_TAINTS),
]

const noScheduleKeys = (node: NodeObject): string[] => {
  const ready = readyOf(node)?.status
  const keys = conditionsOf(node)
    .filter(condition => condition.status === 'True')
    .map(condition => PRESSURE_TAINTS[condition.type])
    .filter(key => key !== undefined)
  if (ready === 'False') keys.push(NOT_READY_TAINT)
  if (ready === 'Unknown') keys.push(UNREACHABLE_TAINT)
  if (node.spec?.unschedulable === true) keys.push('node.kubernetes.io/unschedulable')
  return keys
}

/** The taints with the NoSchedule ones set by the conditions; undefined when nothing changes. */
export const withNoSchedule = (node: NodeObject, wall: number): Taint[] | undefined => {
  const wanted = noScheduleKeys(node)
  const isStale = (taint: Taint): boolean =>
    taint.effect === 'NoSchedule' && MANAGED.includes(taint.key) && !wanted.includes(taint.key)
  const now = taintsOf(node)
  const kept = now.filter(taint => !isStale(taint))
  const missing = wanted.filter(
    key => !kept.some(taint => taint.key === key && taint.effect === 'NoSchedule'),
  )
  if (missing.length === 0 && kept.length === now.length) return undefined
  return [
    ...kept,
    ...missing.map(key => ({ key, effect: 'NoSchedule' as const, timeAdded: apiTime(wall) })),
  ]
}

/** The taint that evicts, for a node in this state; undefined for one that is ready. */
export const evictionKey = (node: NodeObject): string | undefined => {
  const status = readyOf(node)?.status
  if (status === 'False') return NOT_READY_TAINT
  return status === 'Unknown' ? UNREACHABLE_TAINT : undefined
}

/** The taints with exactly one NoExecute taint of ours, or none; undefined when nothing changes. */
export const withNoExecute = (
  node: NodeObject,
  key: string | undefined,
  wall: number,
): Taint[] | undefined => {
  const isOurs = (taint: Taint): boolean =>
    taint.effect === 'NoExecute' &&
    (taint.key === NOT_READY_TAINT || taint.key === UNREACHABLE_TAINT)
  const now = taintsOf(node)
  const kept = now.filter(taint => !isOurs(taint) || taint.key === key)
  if (key === undefined || kept.some(isOurs)) return kept.length === now.length ? undefined : kept
  return [...kept, { key, effect: 'NoExecute', timeAdded: apiTime(wall) }]
}

/** The failure domain that evictions are paced in; nodes without labels share one. */
export const domainOf = (node: NodeObject): string => {
  const labels = node.metadata.labels ?? {}
  return `${labels['topology.kubernetes.io/region'] ?? ''}/${labels['topology.kubernetes.io/zone'] ?? ''}`
}

/** True for each failure domain in which no node is Ready. */
export const darkDomains = (nodes: readonly NodeObject[]): ReadonlyMap<string, boolean> => {
  const dark = new Map<string, boolean>()
  for (const node of nodes) {
    const domain = domainOf(node)
    dark.set(domain, (dark.get(domain) ?? true) && readyOf(node)?.status !== 'True')
  }
  return dark
}
