// SPDX-License-Identifier: Apache-2.0
// What the stages write into the result store. Instants are of `Clock.now` unless they say otherwise.
import type { NodeName } from '../core/ids.js'
import type { NodeView } from '../core/node.js'
import type { Roster } from '../core/roster.js'
import type { SelfReport } from '../plugins/seams.js'
import type { Vote } from '../vote/evidence.js'
import type { Changes } from '../vote/judge.js'
import type { Judgement } from '../vote/judgement.js'
import type { Vouching, VouchEnd } from '../vote/vouch.js'
import type { WriterRanking } from '../vote/writer-ranking.js'
import type { NodeKeys } from './identity/node-keys.js'
import type { Holder, Pin } from './identity/pins.js'
import type { KeyRing } from './key-ring.js'
import type { RecordTable } from './records/table.js'

/** A ConfigMap or Secret that could not be used, or Nodes with a fault. */
export interface ConfigProblem {
  /** `ConfigMap edge-system/edge-health-config`, … */
  readonly thing: string
  readonly problem: string
  /** What counts now: the good one before it; nothing, since there was none; or the faulty one itself. */
  readonly inForce: 'last-good' | 'nothing' | 'itself'
  /** Epoch ms. */
  readonly since: number
}

/** Who is in the zone. */
export interface NodeListResult {
  /** Undefined until the zone is known from the API or from disk. */
  readonly roster: Roster | undefined
  readonly source: 'none' | 'disk' | 'api'
  /** Epoch ms at which the source gave it. */
  readonly listedAt: number
  /** In words: why these nodes. */
  readonly rule: string
  /** The own Node as it was last read; undefined while the roster is from disk. Of others the roster says all that is known. */
  readonly ownNode: () => NodeView | undefined
  /** The API has a Node of our name now. Without one this agent is no member, whatever its roster says. */
  readonly isRegistered: boolean
  /** Whether a Node as it was just read belongs to the zone, by its own labels. */
  readonly isOfZone: (node: NodeView) => boolean
  /** Nodes of the zone that cannot take part: they have no InternalIP. */
  readonly withoutAddress: readonly string[]
  readonly problems: readonly ConfigProblem[]
}

/** The zone's keys. */
export interface KeyResult {
  /** Undefined until there were good ones; until then nothing is exchanged. */
  readonly ring: KeyRing | undefined
  /** Why the present ones are not used; the last good ones stay in force, if there were any. */
  readonly problem: ConfigProblem | undefined
}

/** A member's Node shows keys that do not count, or none where it had some. */
export interface IdentityDoubt {
  /**
   * `wait`: the known keys did not sign that, and must be silent for `--identity-change-after` first; `ask`: the agent at the node's
   * address is asked whether it has the known keys; `dispute`: it has; `refuse`: the shown keys did not sign their own annotation.
   */
  readonly kind: 'wait' | 'ask' | 'dispute' | 'refuse'
  /** Silence counts from here on at the earliest. */
  readonly startedAt: number
}

/** Which keys nodes have. */
export interface ZoneIdentities {
  /** The own ones; undefined without an identity, or before others can know it. */
  readonly own: OwnIdentity | undefined
  /** The members' ones, by name. */
  readonly pins: ReadonlyMap<string, Pin>
  /** Of members, by name. */
  readonly doubts?: ReadonlyMap<string, IdentityDoubt>
  /** Why the own ones are not published; undefined while nothing speaks against it. */
  readonly trouble?: string | undefined
}

/** The own identity, as others read it in the API. */
export interface OwnIdentity {
  readonly keys: NodeKeys
  readonly generation: number
}

/** Whether this node reaches the apiserver. */
export interface CloudLinkState {
  /** `unknown` until the first answer or the first run of failures, unless it was `cut` before the restart or suspension. */
  readonly state: 'unknown' | 'up' | 'cut'
  /** The first failure, or the first answer, that began this state. */
  readonly since: number
  /** The last failure in words; undefined while up. */
  readonly trouble: string | undefined
}

/** What this agent found out about its own node. */
export interface OwnNodeResult {
  readonly cloudLink: CloudLinkState
  readonly kubelet: SelfReport
  /** Some member of the first roster has not been probed for a whole round yet. */
  readonly isWarming: boolean
}

/** A round of probes that said something of its target. */
export interface RoundOutcome {
  readonly target: NodeName
  /** What is said of it from now on. Not looked: it answers again, but flapped, and has to go on answering for a while. */
  readonly vote: Vote
  /** Rounds that failed in a row; 0 after a success. */
  readonly failedRounds: number
  /** 100 × weights of what succeeded or is unknown, in millionths: 100_000_000 is the score 100. */
  readonly score: number
  /** In words; empty when all is well. */
  readonly reason: string
  readonly startedAt: number
  readonly endedAt: number
  /** Attempts started, of all plugins. */
  readonly attempts: number
}

/** An own vote that no longer stands. */
export interface EndedVote {
  readonly target: NodeName
  /** `not-looked`: it cannot be probed at present; `not-probed`: it need not be probed any more. */
  readonly why: 'not-looked' | 'not-probed'
}

/** What the members of one roster last said, as columns. Another roster is another object. */
export interface ZoneRecords {
  readonly roster: Roster
  readonly table: RecordTable
  /**
   * The id of the node that signed the last answer from this member's address, which may be our own; `nobody` when no
   * answer was signed, `unasked` while no request has ended.
   */
  readonly signerAt: (target: number) => bigint | 'nobody' | 'unasked'
  /** Whether the agent at this member's address has the member's known keys, by what was asked since then. */
  readonly holderAt: (target: number, since: number) => Holder
}

/** The records of one roster and the judgement of their votes, as columns. */
export interface ZoneState extends Pick<ZoneRecords, 'roster' | 'table'> {
  readonly judgement: Judgement
  readonly vouching: Vouching
  /** Of this roster. */
  readonly ranking: WriterRanking
}

/** What one vote changed. */
export interface VoteOutcome {
  readonly state: ZoneState
  readonly changes: Changes
  /** Vouching began or ended for somebody. */
  readonly vouchMoved: boolean
}

/** The zone no longer vouches for a node. */
export interface EndedVouch {
  readonly node: string
  readonly why: VouchEnd
}

/** How a write to the API ended; `withheld`: it was kept back, since it was not wanted any more. */
export const WRITE_RESULTS = ['done', 'conflict', 'refused', 'unreachable', 'withheld'] as const
export type WriteResult = (typeof WRITE_RESULTS)[number]

export const WRITE_KINDS = ['status', 'taints', 'lease', 'event'] as const

/** One write to a Node, its Lease or an Event. */
export interface WriteRecord {
  readonly node: string
  /** Epoch ms. */
  readonly at: number
  readonly kind: (typeof WRITE_KINDS)[number]
  /** In words: what was to be brought about. */
  readonly what: string
  readonly result: WriteResult
  /** Why it did not work; empty when it did. */
  readonly trouble: string
}

/** Where peers reach this agent. */
export interface PeerListenerStatus {
  /** The address that is listened on; empty: none yet. */
  readonly address: string
  /** Why peers cannot reach it where they look for it; null when they can. */
  readonly trouble: string | null
}
