// SPDX-License-Identifier: Apache-2.0
import { FLAG } from '../../../vote/evidence.js'
import { ROWS_OVERHEAD } from './bit-rows.js'

// A body: its head, and, unless it is empty, one entry per member. Dense: in roster order. Sparse: behind a list of the
// members' ids, and bits by place in that list, so it needs no common roster or topology.
//
// Entry: varint (zigzag(hb − baseHb) × 2 + 1 if a flag byte follows, else the entry before has the same flags), age,
// [flags], [seconds since cloudCutAt], [rows]. Nothing known about a member: the two bytes 0, 255. A row is its first
// byte, how many bytes (1 or more), the bytes. Rows: the down bits; or 1, 0, the bits of members that it has not looked
// at; or 2, 0, both.

/** Rows of the record's bits follow. */
export const WIRE_ROWS = 64
/** Without a meaning yet: 0. */
export const WIRE_RESERVED = 128
/** With any of these bits, more than the flag byte follows, or the message is malformed. */
export const WIRE_MORE = FLAG.cloudCut | WIRE_ROWS | WIRE_RESERVED
/** A message asks its receiver to probe at most this many nodes at once. */
export const MAX_SUSPECTS = 64

/** A head with all suspects, sparse. */
export const HEAD_BYTES = 4 + 5 + MAX_SUSPECTS * 8
/** Heartbeat, age, flags, cut seconds, and what rows need beside their bytes. */
export const ENTRY_BYTES = 5 + 1 + 1 + 5 + ROWS_OVERHEAD
const CAP_BYTES = 1 << 20

/** Most members that a sparse message may name: rosters may differ, but not without limit. */
export const maxEntries = (size: number): number => 2 * size + 64

/** The longest message that a zone of this size has use for; checked before anything else. */
export const maxMessageBytes = (size: number): number => {
  const entries = maxEntries(size)
  const rowBytes = (entries + 7) >> 3
  return Math.min(CAP_BYTES, 96 + HEAD_BYTES + entries * (8 + ENTRY_BYTES + 2 * rowBytes))
}

/** What the sender says beside its records. */
export interface BodyHead {
  readonly keySetHash: number
  /** Roster indices of the receiver; nodes that are not in its roster are left out. */
  readonly suspects: readonly number[]
}

/** What to write. */
export interface BodyOrder {
  readonly sparse: boolean
  readonly keySetHash: number
  /** What heartbeats are relative to; the header carries it. */
  readonly baseHb: number
  /** Roster indices. */
  readonly suspects: readonly number[]
  /** Without records: acknowledgements and challenges. */
  readonly isEmpty?: boolean
  /** Members whose records are left out, since they sign statements of their own. */
  readonly leaveOut?: (index: number) => boolean
}
