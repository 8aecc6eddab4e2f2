// SPDX-License-Identifier: Apache-2.0

/**
 * One member's record on its way into the table. One draft is reused for all records of a message: merging makes no
 * objects.
 */
export interface RecordDraft {
  /** Roster index. */
  origin: number
  hb: number
  /** `Clock.now` of the own agent; −Infinity when the age is unknown. */
  producedAt: number
  flags: number
  cloudCutAt: number
  /** Whether any bit of `down` is set. */
  anyDown: boolean
  /** One bit per slot of the origin, lowest bit first; meaningless unless `anyDown`. */
  readonly down: Uint8Array
  /** Whether any bit of `unlooked` is set. */
  anyUnlooked: boolean
  /** The same for members at which the origin could not look. It outweighs `down`. */
  readonly unlooked: Uint8Array
}

/** An empty draft: its origin has looked at all members and says up about each. */
export const newDraft = (rowBytes: number): RecordDraft => ({
  origin: 0,
  hb: 0,
  producedAt: -Infinity,
  flags: 0,
  cloudCutAt: -Infinity,
  anyDown: false,
  down: new Uint8Array(rowBytes),
  anyUnlooked: false,
  unlooked: new Uint8Array(rowBytes),
})
