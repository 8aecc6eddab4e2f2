// SPDX-License-Identifier: Apache-2.0
// The JSON of `/status`: what `status`, `explain` and the page read. All instants are ISO 8601 of the agent's wall
// clock, all lengths of time are seconds; null says that there is nothing to say.
import type { Maintenance } from '../../core/maintenance.js'
import type { StageStatus } from '../../core/stage.js'
import type { PeerListenerStatus } from '../results.js'

/** What a node is, as `class` shows it. */
export type NodeClassName =
  'healthy' | 'dead' | 'kubelet-sick' | 'cloud-link-cut' | 'zone-link-cut' | 'undecided'

/** What keeps a verdict from being reached or written. The first ones come from the vote. */
export type GuardKind =
  | 'no-quorum'
  | 'component-quorum'
  | 'hold'
  | 'brake'
  | 'minority'
  | 'self-suspect'
  | 'warming'
  | 'zone-of-two'
  | 'leaving'
  | 'witness'
  | 'reaffirm'
  /** This agent does not reach the apiserver, so it cannot write. */
  | 'cloud-link-cut'
  /** Its link comes and goes: the marks stay until it has been whole for a while. */
  | 'flapping'

export interface GuardView {
  readonly kind: GuardKind
  /** One sentence with its numbers and what it waits for. */
  readonly text: string
}

/** Own probing of one node. */
export interface ProbeView {
  /** `not-looked`: the probes were not made yet, cannot be made, or the node flapped; `reason` says why. It counts for nothing. */
  readonly vote: 'up' | 'down' | 'not-looked'
  /** 0 to 100. */
  readonly score: number
  readonly scoreLine: number
  /** Own rounds that failed in a row. */
  readonly failedRounds: number
  /** Share of first attempts that were missed, 0 to 1. */
  readonly loss: number
  /** How long the last round took that found it up; null before the first. */
  readonly roundTripSeconds: number | null
  readonly lastRoundSeconds: number | null
  /** Why the last round failed, or could not be made; empty when all is well. */
  readonly reason: string
  /** Flap damping: up is not believed for this long; 0 when it is. */
  readonly heldSeconds: number
}

/** The exchange with one peer's agent. */
export interface PeerView {
  readonly state: 'ok' | 'silent' | 'refused' | 'unknown'
  readonly dialect: 'edge-health' | 'superedge-v0.6' | 'superedge-v0.9' | 'unknown'
  readonly lastHeardSeconds: number | null
  /** Why it is not ok, in words; null when it is. */
  readonly trouble: string | null
  /** Its keys are known: it is believed only when it signs with them. */
  readonly isSigned: boolean
  /** Which keys it has, as it says itself; `keys.set` shows ours. Null until it said so. */
  readonly keySet: string | null
  /** The last request to it failed because one of us does not have the key with which the other signs. */
  readonly isKeyRefused: boolean
}

/** Whether the zone keeps the node's Lease (or takes its taint off) while its cloud link is cut. */
export interface VouchView {
  /** `idle`: nothing to do; `blocked`: it would be active, but for the reason. */
  readonly state: 'off' | 'idle' | 'active' | 'blocked'
  readonly since: string | null
  /** The writer that vouches. */
  readonly by: string | null
  readonly reason: string
}

/** Something that was written to the Kubernetes API about the node. */
export interface WriteView {
  readonly at: string
  readonly by: string
  /** In words: `annotation nodeunhealth=yes`. */
  readonly what: string
  readonly result: 'done' | 'conflict' | 'refused' | 'unreachable' | 'withheld'
}

/** What will be written if nothing changes. */
export interface NextWriteView {
  readonly what: string
  readonly by: string
  /** Own place in the writers' order: 0 writes first; null: this agent does not write. */
  readonly ownRank: number | null
  /** Until the elected writer writes; null while a guard holds it. */
  readonly inSeconds: number | null
}

/** One node, without who voted what. */
export interface NodeStatus {
  readonly name: string
  readonly address: string
  readonly isSelf: boolean
  /** Final, or undecided. */
  readonly verdict: 'healthy' | 'unhealthy' | 'undecided'
  /** What the votes ask for and the guards still hold back; null when there is nothing. */
  readonly pending: 'healthy' | 'unhealthy' | null
  readonly pendingSince: string | null
  readonly class: NodeClassName
  /** Since when the class stands. */
  readonly since: string | null
  /** What `/localinfo` says. */
  readonly local: 'up' | 'down'
  /** Counted votes, how many voters could not look, and how many equal votes are a majority. */
  readonly votes: {
    readonly down: number
    readonly up: number
    readonly notLooked: number
    readonly needed: number
  }
  readonly guards: readonly GuardView[]
  /** Null: this agent does not probe it (itself, or a zone with rings). */
  readonly probe: ProbeView | null
  /** Age of the node's own record; null when none was ever heard. */
  readonly recordAgeSeconds: number | null
  /** That record is younger than `--record-ttl`: its agent has a voice. */
  readonly isHeard: boolean
  /** What the node says of its kubelet. */
  readonly kubelet: 'well' | 'bad' | 'unknown'
  /** Why the own kubelet is not well, in words; null when it is, and for other nodes: their own agents know. */
  readonly kubeletReason: string | null
  /** Since when the node says that it does not reach the apiserver; null when it does, or says nothing. */
  readonly cloudCutSince: string | null
  /** Work on it that was announced: nobody is alerted. Null while there is none, or its Node is not known. */
  readonly maintenance: Maintenance | null
  /** Why its annotation about that is not used, in words. */
  readonly maintenanceTrouble: string | null
  /** Null for the own node. */
  readonly peer: PeerView | null
  readonly vouch: VouchView
  readonly lastWrite: WriteView | null
  readonly nextWrite: NextWriteView | null
}

/** One voter about the node in question. */
export interface VoterView {
  readonly name: string
  /** `nothing`: it was never heard. */
  readonly says: 'up' | 'down' | 'not-looked' | 'nothing'
  /** Age of what it says; null when it never said anything. */
  readonly ageSeconds: number | null
  readonly counts: boolean
  /** Why it does not count, in words; null when it does. */
  readonly why: string | null
}

/** What this agent makes of a node's own keys. */
export interface NodeIdentity {
  /**
   * `signed`: it is believed only when it signs with the keys known here; `unsigned`: no keys of it are known here, or it fell back to the
   * zone's key. The others: its Node shows keys that the known ones did not sign, or none any more. `changed`: taken once the known ones
   * were silent long enough; `asked`: the agent at its address is asked whether it has the known ones; `disputed`: it has, so these
   * stay. `refused`: its Node shows keys that did not sign their own annotation.
   */
  readonly state: 'signed' | 'unsigned' | 'changed' | 'asked' | 'disputed' | 'refused'
  /** False: its votes do not count, since nothing that is believed of it is young enough. */
  readonly counts: boolean
  /** Age of what it signed last; null when nothing was heard that the known keys signed. */
  readonly signedSeconds: number | null
  /** For how long the known keys have been silent; null unless `changed`. */
  readonly silentSeconds: number | null
  /** After this long a silence the other keys count (`--identity-change-after`); null unless `changed`. */
  readonly changeAfterSeconds: number | null
  /** Different statements for one time that it signed: its keys are on two machines, or it lies. */
  readonly equivocations: number
}

/** One node with its voters. */
export interface NodeDetail extends NodeStatus {
  readonly voters: readonly VoterView[]
  /** Of the keys by which this agent knows the node, its own ones if it is its own node; null where it knows none. */
  readonly keyFingerprint: string | null
  /** Null where nodes do not sign here: with `--identity=off`, or while the own keys are not published. */
  readonly identity: NodeIdentity | null
}

/** The zone as this agent sees it. */
export interface ZoneStatus {
  readonly version: string
  /** Now, by the agent's wall clock. */
  readonly at: string
  readonly uptimeSeconds: number
  readonly zone: {
    readonly name: string
    readonly members: number
    readonly rule: string
    /** Why this is probably not the zone that was meant, and what to do, in words; null without a sign of that. */
    readonly trouble: string | null
  }
  readonly self: { readonly name: string; readonly address: string }
  readonly peerListener: PeerListenerStatus
  readonly roster: {
    readonly source: 'none' | 'api' | 'disk'
    readonly ageSeconds: number | null
    readonly trouble: string | null
  }
  readonly keys: {
    readonly state: 'ok' | 'missing' | 'rotating'
    readonly trouble: string | null
    /** A short name of our set of keys, whatever their order; null without one. */
    readonly set: string | null
    /** Members that have the same set, this one included; a rotation's next step may come once all have it. */
    readonly sharedBy: number
  }
  readonly identity: {
    readonly mode: 'off' | 'prefer' | 'require'
    /** Which of the own keys count; null without any, or before they are published. */
    readonly generation: number | null
    /** Members whose keys are known, this node among them; 0 while `generation` is null. */
    readonly members: number
    /** Why the own keys cannot be published; null while nothing is known that speaks against it. */
    readonly trouble: string | null
  }
  /** Where the agent keeps what it needs after a restart without the cloud. */
  readonly disk: {
    readonly path: string
    /** What it cannot keep or read there, and why, in words; null when all is kept. */
    readonly trouble: string | null
  }
  readonly stages: readonly StageStatus[]
  readonly cloudLink: { readonly state: 'up' | 'cut' | 'unknown'; readonly since: string | null }
  /** Whether the cluster refuses the agents' account all writes that are not their job. */
  readonly confinement: {
    readonly state: 'yes' | 'no' | 'unknown'
    /** How that is known, or why not, in words. */
    readonly reason: string
    /** When it was found out; null before. */
    readonly at: string | null
  }
  readonly disruption: 'normal' | 'partial' | 'full'
  readonly brake: {
    readonly isOn: boolean
    readonly unhealthy: number
    /** Most nodes that may be condemned at one time. */
    readonly limit: number
  }
  readonly selfSuspect: boolean
  readonly correlatedFailure: boolean
  readonly topology: { readonly kind: 'mesh' | 'rings'; readonly observers: number }
}

/** `GET /status`. */
export interface StatusView extends ZoneStatus {
  /** Sorted by name. */
  readonly nodes: readonly NodeStatus[]
}

/** `GET /status?node=NAME`. */
export interface ExplainView extends ZoneStatus {
  readonly node: NodeDetail
}
