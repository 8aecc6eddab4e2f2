// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../../core/roster.js'
import type { ByteReader } from '../../../core/varint.js'

/** The sender's zone is a mesh, so that its rows speak of every member that the message names. */
export const SPEAKS_OF_ALL = 1
export const SPEAKS_OF_SOME = 0

/** The members that a sparse message is about. */
export interface Scope {
  /** Own index of each member that it names, −1 for strangers. */
  readonly indices: Int32Array
  /** By own index: 1 when it names the member. */
  readonly isNamed: Uint8Array
  /** Its rows speak of every member that it names. */
  readonly speaksOfAll: boolean
}

const NOBODY: Scope = {
  indices: new Int32Array(0),
  isNamed: new Uint8Array(0),
  speaksOfAll: false,
}

/** Acknowledgements and challenges name nobody, and end before. @returns undefined when malformed */
export const readScope = (
  reader: ByteReader,
  body: Buffer,
  count: number,
  roster: Roster,
): Scope | undefined => {
  if (count === 0 && reader.isAtEnd) return NOBODY
  const kind = reader.byte()
  const start = reader.skip(8 * count)
  if (kind < 0 || kind > SPEAKS_OF_ALL || start < 0) return undefined
  const indices = new Int32Array(count)
  const isNamed = new Uint8Array(roster.members.length)
  for (let i = 0; i < count; i++) {
    indices[i] = roster.indexOfId(body.readBigUInt64LE(start + 8 * i)) ?? -1
    if (indices[i]! >= 0) isNamed[indices[i]!] = 1
  }
  return { indices, isNamed, speaksOfAll: kind === SPEAKS_OF_ALL }
}
