// SPDX-License-Identifier: Apache-2.0
import type { NodeCondition } from '../../../core/node.js'
import { OWN_PREFIX, PEER_HEALTH } from '../../../core/marks.js'

/**
 * When a bridge renews the Lease of a disconnected node: while the node's zone says that it lives (`zone`), for a short
 * while (`grace`), or never.
 */
export type VouchMode = 'grace' | 'off' | 'zone'

export interface GapLimits {
  /** The longest time after the disconnect for which a Lease is renewed. */
  readonly maxMs: number
  /** Oldest report of the zone that counts. */
  readonly freshMs: number
  /** Time between two renewals. */
  readonly everyMs: number
  /** Time after which the zone's report is read again when there was none. */
  readonly askMs: number
}

export const GAP_LIMITS: GapLimits = {
  ...{ maxMs: 120_000, freshMs: 30_000 },
  ...{ everyMs: 10_000, askMs: 1_000 },
}

/** On a Lease that a bridge renews: since when. A bridge that restarts continues with that time. */
export const GAP_ANNOTATION = `${OWN_PREFIX}bridge-renews-since`

/**
 * When a node's gap began, for a bridge that starts at `startedAt`. The edge's own renewals remove the annotation.
 * @param annotations of its Lease
 * @returns epoch ms by the apiserver's clock
 */
export const gapSince = (
  annotations: Readonly<Record<string, string>>,
  startedAt: number,
): number => {
  const since = Date.parse(annotations[GAP_ANNOTATION] ?? '')
  return since < startedAt ? since : startedAt
}

/** A Lease as the apiserver has it. */
export interface SeenLease {
  /** Epoch ms. */
  readonly renewedAt: number
  readonly durationMs: number
}

/** A disconnected node and what is known of it. All times are epoch ms by the apiserver's clock. */
export interface Gap {
  readonly mode: VouchMode
  readonly now: number
  /** When its connection was lost, or this bridge started. */
  readonly since: number
  /** The last sign of life from the node, on this bridge or by its Lease; undefined when there was none. */
  readonly heardAt: number | undefined
  /** Its Lease when the gap began; undefined when it had none. */
  readonly leaseAtStart: SeenLease | undefined
  /** Its Lease now. */
  readonly lease: SeenLease | undefined
  /** When this bridge last renewed it; undefined when it has not in this gap. */
  readonly renewedAt: number | undefined
  /** Conditions of its Node now; undefined when there is no Node. */
  readonly conditions: readonly NodeCondition[] | undefined
}

/** What to do about the node's Lease. */
export type GapStep =
  /** Write this `renewTime`. */
  | { readonly kind: 'renew'; readonly renewTime: number }
  /** Decide again at `until`: no renewal is due, or the zone has no recent report. */
  | { readonly kind: 'wait'; readonly until: number; readonly hasReport: boolean }
  /** Renew no more in this gap. */
  | { readonly kind: 'end'; readonly reason: GapEnd }

export type GapEnd =
  | 'off'
  | 'heard'
  | 'too-long'
  /** Somebody else renewed or deleted the Lease. */
  | 'lease-moved'
  /** The Lease had expired before the gap began, so the node was already unhealthy. */
  | 'lease-was-old'
  | 'node-gone'
  | 'peers-say-dead'

const zoneReport = (conditions: readonly NodeCondition[]): NodeCondition | undefined =>
  conditions.find(({ type }) => type === PEER_HEALTH)

/** Age of the zone's report in milliseconds; Infinity when there is none or its time is in the future. */
const ageOf = (report: NodeCondition | undefined, now: number): number => {
  const age = now - Date.parse(report?.lastHeartbeatTime ?? '')
  return age >= 0 ? age : Infinity
}

/** Why the gap ends because of the node itself, its Lease or its length. */
const endOf = (gap: Gap, limits: GapLimits): GapEnd | undefined => {
  const { now, since, heardAt, leaseAtStart, lease, renewedAt } = gap
  if (gap.mode === 'off') return 'off'
  if (heardAt !== undefined && heardAt > since) return 'heard'
  if (now >= since + limits.maxMs) return 'too-long'
  if (leaseAtStart === undefined || leaseAtStart.renewedAt + leaseAtStart.durationMs <= since)
    return 'lease-was-old'
  const known = renewedAt ?? leaseAtStart.renewedAt
  return lease?.renewedAt === known ? undefined : 'lease-moved'
}

/** Whether the zone recently reported that the node lives. */
const hasReport = ({ conditions = [], now }: Gap, { freshMs }: GapLimits): boolean => {
  const report = zoneReport(conditions)
  return report?.status === 'True' && ageOf(report, now) <= freshMs
}

/** A report against the node counts in every mode, however old it is. */
const reportAgainst = ({ conditions }: Gap): GapEnd | undefined => {
  if (conditions === undefined) return 'node-gone'
  return zoneReport(conditions)?.status === 'False' ? 'peers-say-dead' : undefined
}

/**
 * What to do about the Lease of a disconnected node, so that a bridge that restarts does not make nodes NotReady. It only
 * prolongs: the Lease must have been valid when the gap began and not been changed by others, for two minutes at most and
 * until the node's first sign of life. The time written is never later than the apiserver's.
 */
export const gapStep = (gap: Gap, limits: GapLimits = GAP_LIMITS): GapStep => {
  const reason = endOf(gap, limits) ?? reportAgainst(gap)
  if (reason !== undefined) return { kind: 'end', reason }
  if (gap.mode === 'zone' && !hasReport(gap, limits))
    return { kind: 'wait', until: gap.now + limits.askMs, hasReport: false }
  const dueAt = gap.lease!.renewedAt + limits.everyMs
  if (dueAt > gap.now) return { kind: 'wait', until: dueAt, hasReport: true }
  return { kind: 'renew', renewTime: gap.now }
}
