// SPDX-License-Identifier: Apache-2.0

/** What a node says about itself in its record: one byte on the wire, so bits. */
export const FLAG = {
  /** Its own probes fail where others' succeed: its votes do not count. */
  selfSuspect: 1,
  /** Its kubelet answers its own node with an error, or not at all. */
  kubeletBad: 2,
  /** It is shutting down on purpose. */
  leaving: 4,
  /** It cannot reach the apiserver. */
  cloudCut: 8,
  /** Its kubelet answers its own node well. Neither bit: it does not know. */
  kubeletWell: 16,
  /** It has not yet finished a first round against everybody: its votes do not count. */
  warming: 32,
} as const

/**
 * What one agent says about one node. An agent that could not probe it says neither up nor down. A vote changes only by a
 * round that found otherwise, or when the agent itself could not probe for long.
 */
export type Vote = 'up' | 'down' | 'not-looked'

/** In `Evidence.failedRounds`: the node answers us again, but failed so often lately that we say neither up nor down yet. */
export const HELD = -2

/**
 * What one agent knows, as columns over its roster: index i is the i-th member. Times are `Clock.now` of the own
 * agent. The judge reads it and never writes it. Own observations are the row of `self`.
 */
export interface Evidence {
  readonly size: number
  readonly self: number
  /** When each member's newest record was made (now − its age); −Infinity when nothing was ever heard. */
  readonly producedAt: Float64Array
  /** `FLAG` bits of each member's newest record. */
  readonly flags: Uint8Array
  /** Since when each member has no link to the apiserver, as it says itself; −Infinity unless `FLAG.cloudCut`. */
  readonly cloudCutAt: Float64Array
  /** How many members' newest records say that this member is down, fresh or not. */
  readonly downVotes: Uint16Array
  /** Own rounds that failed in a row against each member; 0 after a success, −1 while there is no own vote, or `HELD`. */
  readonly failedRounds: Int16Array
  /** The members that probe `target`, backup observers at work among them; never `target` itself. */
  observersOf(target: number): ArrayLike<number>
  /** The newest record of `observer` says that `target` is down, which implies that it has looked. */
  saysDown(observer: number, target: number): boolean
  /** The newest record of `observer` has an own vote about `target`: only then is the lack of a "down" an "up". */
  hasLooked(observer: number, target: number): boolean
}
