// SPDX-License-Identifier: Apache-2.0
// A chaos cell as data, and what is known after it was played.
import type { Asked } from './audit.js'
import { monitorMsOf } from '../../testkit/control-plane/flags.js'
import type { Program } from '../../testkit/control-plane/programs.js'
import type { Lab } from './lab.js'
import type { NodeState, View } from './observer.js'
import type { LabOptions } from './options.js'
import type { NodeTraffic } from './zone-meter.js'

/** How a zone is called in figures. */
export const zoneOf = ({ nodes, profile, identity, other }: LabOptions): string =>
  [
    `N=${nodes} ${profile}`,
    ...(identity === 'require' ? [] : [`--identity ${identity}`]),
    ...(other === undefined ? [] : ['two versions']),
  ].join(', ')

/** How long things may take before a claim counts as broken, in ms: what is promised, with room for a small machine. */
export interface Limits {
  /** A change shows in every /localinfo. */
  readonly seenMs: number
  /** A change is written to the apiserver. */
  readonly writtenMs: number
  /** After healing every /localinfo is right. */
  readonly healedMs: number
  /** The control plane's patience, to the end of its next round. */
  readonly graceMs: number
  /** One of its rounds. */
  readonly monitorMs: number
  /** From the NoExecute taint until a Pod that bears it for a while is gone. */
  readonly evictMs: number
  /** A dead node's endpoints are out of the kernel of a node that is behind the wrapper. */
  readonly forgottenMs: number
  /** How long "nothing more happens" is watched. */
  readonly quietMs: number
  /** `--record-ttl`. */
  readonly recordTtlMs: number
  /** Since the last word of a node that lost its keys: new ones do not count before this, and count after that. */
  readonly newKeys: { readonly fromMs: number; readonly byMs: number }
}

/** docs/adr/0010 and 0011. */
const newKeysOf = ({ profile, identity }: LabOptions, recordTtlMs: number): Limits['newKeys'] => {
  const changeAfterMs = profile === 'fast' ? 20_000 : 120_000
  return identity === 'require'
    ? { fromMs: changeAfterMs, byMs: changeAfterMs }
    : { fromMs: 0, byMs: recordTtlMs / 2 }
}

export const limitsFor = (options: LabOptions): Limits => {
  const { profile, graceMs, tolerationMs, nodes } = options
  const isFast = profile === 'fast'
  const busyMs = nodes * 200
  // The witness of a zone of two waits for half a Lease's duration.
  const witnessMs = nodes > 2 ? 0 : isFast ? 8_000 : 30_000
  const recordTtlMs = isFast ? 10_000 : 60_000
  return {
    seenMs: (isFast ? 5_000 : 12_000) + busyMs,
    writtenMs: (isFast ? 9_000 : 25_000) + busyMs + witnessMs,
    healedMs: 15_000 + busyMs,
    graceMs: graceMs + monitorMsOf(graceMs) + 3_000,
    monitorMs: monitorMsOf(graceMs),
    evictMs: tolerationMs + 5_000,
    forgottenMs: isFast ? 5_000 : 10_000,
    quietMs: isFast ? 3_000 : 12_000,
    recordTtlMs,
    newKeys: newKeysOf(options, recordTtlMs),
  }
}

/** What a claim may look at. */
export interface Evidence {
  readonly view: View
  readonly lab: Lab
  /** What agents asked of the apiserver since the cell began, by the audit log. */
  readonly asked: readonly Asked[]
  /** Changes of Nodes by agents since the last fault, by the audit log. */
  readonly writes: readonly Asked[]
  /** The same since the cell began. */
  readonly allWrites: readonly Asked[]
  readonly state: (name: string) => NodeState
}

export type Step =
  /** Something is done to the zone. */
  | { readonly kind: 'fault'; readonly what: string; do(lab: Lab): Promise<unknown> }
  /** Must come true within this time of the last fault. */
  | {
      readonly kind: 'becomes'
      readonly claim: string
      readonly withinMs: number
      holds(evidence: Evidence): boolean
    }
  /** Must be true now and stay so for this long. */
  | {
      readonly kind: 'stays'
      readonly claim: string
      readonly forMs: number
      holds(evidence: Evidence): boolean
    }
  /** Whether it comes true within this time of the last fault, and when, is noted; both are allowed. */
  | {
      readonly kind: 'measured'
      readonly claim: string
      readonly withinMs: number
      holds(evidence: Evidence): boolean
    }

/** Who plays which part: names in an order that the seed drew. */
export type Roles = readonly string[]

export interface Cell {
  readonly name: string
  readonly shows: string
  /** Programs beyond those of a control plane; a cell that needs such is played only when it is asked for. */
  readonly programs?: readonly Program[]
  /** Kubernetes must be this new for it, as in `1.36`; such a cell is played only when it is asked for. */
  readonly since?: string
  /** A zone must have this many nodes for it. */
  readonly least: number
  /** And no more than this. */
  readonly most?: number
  /** The control plane must be this patient with a silent node; without it any patience will do. */
  readonly leastGraceMs?: number
  /** It needs this profile's periods and grace times; without it is played with any. */
  readonly profile?: LabOptions['profile']
  /** It needs agents with one of these `--identity`; without it is played with any. */
  readonly identities?: readonly LabOptions['identity'][]
  /** It needs a second version of the agent; such a cell is played only where there is one. */
  readonly needsOther?: true
  /** Those whom the zone may condemn; everybody else must never be marked, and never be touched by a minority. */
  mayMark(roles: Roles): readonly string[]
  /** Those who must call each other up all the time. */
  sound(roles: Roles): readonly string[]
  steps(roles: Roles, limits: Limits): readonly Step[]
  /** Figures to tell beside the claims, when it is over. */
  notes?(roles: Roles, lab: Lab): readonly string[]
  /** What connections met, since this moment of the monotonic clock. */
  lanes?(roles: Roles, lab: Lab, startedAt: number): readonly Lane[]
  /** The same, by units of nodes. */
  units?(roles: Roles, lab: Lab, startedAt: number): readonly UnitLane[]
}

/** How a claim came out. */
export interface Claim {
  readonly claim: string
  readonly kind: 'becomes' | 'stays' | 'measured' | 'always'
  /** It came true, or stayed so. */
  readonly ok: boolean
  /** From the last fault until it was true; how long it stayed true; or when it broke. */
  readonly ms: number
}

/** Something to show on the timeline. */
export interface Moment {
  /** Since the cell began, in ms. */
  readonly at: number
  readonly kind: 'fault' | 'claim' | 'write' | 'node' | 'broken'
  readonly node: string
  readonly text: string
}

/** One stretch of a node's life during which nothing about it changed. */
export interface Stretch extends NodeState {
  readonly from: number
}

/** What one node's kernel knew of a Service, and what became of the connections from there; times in ms. */
export interface Lane {
  readonly title: string
  readonly knew: readonly {
    readonly from: number
    /** Backends in the rules; undefined: there were no rules. */
    readonly backends: number | undefined
    /** One of them was dead then. */
    readonly isWrong: boolean
  }[]
  readonly asked: number
  /** When those were begun that nobody answered. */
  readonly failed: readonly number[]
}

/** Where the connections of one node were answered; times in ms. */
export interface UnitLane {
  readonly title: string
  readonly connections: readonly {
    readonly at: number
    /** The node's own, then. */
    readonly unit: string
    /** Of who answered; undefined when nobody did. */
    readonly by: string | undefined
  }[]
}

export interface Played {
  /** Size and profile of the zone. */
  readonly zone: string
  readonly cell: string
  readonly shows: string
  readonly seed: number
  readonly ok: boolean
  readonly ms: number
  readonly claims: readonly Claim[]
  readonly moments: readonly Moment[]
  readonly stretches: Readonly<Record<string, readonly Stretch[]>>
  /** Figures beside the claims. */
  readonly notes: readonly string[]
  readonly lanes?: readonly Lane[]
  readonly units?: readonly UnitLane[]
  /** What each node sent and received meanwhile; empty where nobody counted. */
  readonly traffic?: readonly NodeTraffic[]
  /** Why these sums may be short: of its whole run; missing in reports of earlier versions. */
  readonly uncounted?: readonly string[]
  /** The last lines of those concerned, when it failed. */
  readonly logs: readonly string[]
}

/** What is only measured cannot fail. */
export const isBroken = ({ ok, kind }: Claim): boolean => !ok && kind !== 'measured'
