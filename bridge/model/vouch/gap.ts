// SPDX-License-Identifier: Apache-2.0
import type { NodeCondition } from '../../../core/node.js'
import { OWN_PREFIX, PEER_HEALTH } from '../../../core/marks.js'

/** When a bridge renews the Lease of a node that it does not hear: on the word of the node's zone, for a while, or never. */
export type VouchMode = 'grace' | 'off' | 'zone'

export interface GapLimits {
  /** The longest time from the beginning of a gap for which any Lease is renewed. */
  readonly maxMs: number
  /** How old the zone's word may be. */
  readonly freshMs: number
  /** How often a Lease is renewed. */
  readonly everyMs: number
  /** How soon the zone is asked again when it said nothing. */
  readonly askMs: number
}

export const GAP_LIMITS: GapLimits = {
  ...{ maxMs: 120_000, freshMs: 30_000 },
  ...{ everyMs: 10_000, askMs: 1_000 },
}

/** Stands on a Lease that a bridge renews: since when. A bridge that begins anew begins no new two minutes. */
export const GAP_ANNOTATION = `${OWN_PREFIX}bridge-renews-since`

/**
 * When the gap of a node began, for a bridge that begins at `startedAt`. The edge's own renewals take the annotation off.
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

/** A node that is not heard, and what is known of it. All times are epoch ms by the apiserver's clock. */
export interface Gap {
  readonly mode: VouchMode
  readonly now: number
  /** When its connection was lost, or this bridge began. */
  readonly since: number
  /** When anything of the node was heard last, on this bridge or by its Lease; undefined: never. */
  readonly heardAt: number | undefined
  /** Its Lease when the gap began; undefined: it has none. */
  readonly leaseAtStart: SeenLease | undefined
  /** Its Lease now. */
  readonly lease: SeenLease | undefined
  /** When this bridge renewed it last; undefined: not in this gap. */
  readonly renewedAt: number | undefined
  /** The conditions of its Node now; undefined: there is no Node. */
  readonly conditions: readonly NodeCondition[] | undefined
}

/** What to do about a node's Lease. */
export type GapStep =
  /** Write this time. */
  | { readonly kind: 'renew'; readonly renewTime: number }
  /** Ask again then: it is not due, or the zone says nothing that is young enough. */
  | { readonly kind: 'wait'; readonly until: number; readonly hasWord: boolean }
  /** This gap is over for the bridge, whatever happens. */
  | { readonly kind: 'end'; readonly reason: GapEnd }

export type GapEnd =
  | 'off'
  | 'heard'
  | 'too-long'
  /** Somebody else renews the Lease, or took it away. */
  | 'lease-moved'
  /** It had run out before the gap began: the node was not well then. */
  | 'lease-was-old'
  | 'node-gone'
  | 'peers-say-dead'

const peerWord = (conditions: readonly NodeCondition[]): NodeCondition | undefined =>
  conditions.find(({ type }) => type === PEER_HEALTH)

/** Milliseconds since the zone spoke; Infinity where it did not, or at a time that lies ahead. */
const ageOf = (word: NodeCondition | undefined, now: number): number => {
  const age = now - Date.parse(word?.lastHeartbeatTime ?? '')
  return age >= 0 ? age : Infinity
}

/** Why the node itself, its Lease or time ends the gap. */
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

/** Has the zone said, a moment ago, that the node lives? */
const hasWord = ({ conditions = [], now }: Gap, { freshMs }: GapLimits): boolean => {
  const word = peerWord(conditions)
  return word?.status === 'True' && ageOf(word, now) <= freshMs
}

/** A word against the node counts in every mode, however old. */
const wordAgainst = ({ conditions }: Gap): GapEnd | undefined => {
  if (conditions === undefined) return 'node-gone'
  return peerWord(conditions)?.status === 'False' ? 'peers-say-dead' : undefined
}

/**
 * What to do about the Lease of a node that is not heard, so that a bridge that restarts makes no node NotReady. It only
 * carries on: a Lease that was young when the gap began, that nobody else moves, for two minutes at the most, and no
 * longer than until the first sign of the node. The time written is never later than the apiserver's.
 */
export const gapStep = (gap: Gap, limits: GapLimits = GAP_LIMITS): GapStep => {
  const reason = endOf(gap, limits) ?? wordAgainst(gap)
  if (reason !== undefined) return { kind: 'end', reason }
  if (gap.mode === 'zone' && !hasWord(gap, limits))
    return { kind: 'wait', until: gap.now + limits.askMs, hasWord: false }
  const dueAt = gap.lease!.renewedAt + limits.everyMs
  if (dueAt > gap.now) return { kind: 'wait', until: dueAt, hasWord: true }
  return { kind: 'renew', renewTime: gap.now }
}
