// SPDX-License-Identifier: Apache-2.0
import { ByteReader, writeVarint } from '../../../core/varint.js'
import { entryBytes, writeEntry, type Entry } from '../../identity/entries.js'
import { HEADER_BYTES, MAC_BYTES } from './wire.js'

/**
 * The longest message between nodes with identities that is written, or read: what does not fit goes with the next
 * exchange.
 */
export const MAX_SIGNED_BYTES = 64 << 10
const VARINT_BYTES = 5

/** News about the member at a place. */
export interface PlacedEntry {
  readonly place: number
  readonly entry: Entry
}

/** The same on its way out. */
export interface NewsEntry extends PlacedEntry {
  /** The digest byte, for that member, of a receiver that has accepted this entry. */
  readonly digest: number
}

/** The body of a message between two nodes that have identities. */
export interface SignedBody {
  /** As in `EHP1`: key set, suspects, and the records of members without an identity. */
  readonly shared: Uint8Array
  /** Ids of the members at each place; undefined where both rosters are the same. */
  readonly ids: readonly bigint[] | undefined
  /** For each place how much the sender knows; empty: it wants nothing. */
  readonly digest: Uint8Array
}

const headBytes = ({ shared, ids, digest }: SignedBody): number =>
  3 * VARINT_BYTES + shared.length + 8 * (ids?.length ?? 0) + digest.length

const writeHead = (out: Buffer, { shared, ids, digest }: SignedBody): number => {
  let at = writeVarint(out, 0, shared.length)
  out.set(shared, at)
  at += shared.length
  if (ids !== undefined) {
    at = writeVarint(out, at, ids.length)
    for (const id of ids) at = out.writeBigUInt64LE(id, at)
  }
  at = writeVarint(out, at, digest.length)
  out.set(digest, at)
  return at + digest.length
}

const bytesOf = (entries: readonly NewsEntry[]): number => {
  let sum = 0
  for (const { entry } of entries) sum += entryBytes(entry)
  return sum
}

/** The own entry, and the shortest ones of the others: a member that says much takes no room from those that say little. */
const thoseThatFit = (
  entries: readonly NewsEntry[],
  room: number,
  own: number,
): readonly NewsEntry[] => {
  const rank = ({ place, entry }: NewsEntry): number => (place === own ? 0 : entryBytes(entry))
  let used = 0
  return entries
    .toSorted((a, b) => rank(a) - rank(b))
    .filter(({ place, entry }) => (used += entryBytes(entry)) <= room || place === own)
    .toSorted((a, b) => a.place - b.place)
}

/**
 * Writes as many entries as fit, and says which.
 * @param entries by place, ascending
 * @param own the place whose entry is written whatever does not fit
 */
export const writeSignedBody = (
  head: SignedBody,
  entries: readonly NewsEntry[],
  own: number,
): { readonly bytes: Buffer; readonly written: readonly NewsEntry[] } => {
  const start = headBytes(head)
  const room = MAX_SIGNED_BYTES - HEADER_BYTES - MAC_BYTES - start
  const bytes = bytesOf(entries)
  const written = bytes <= room ? entries : thoseThatFit(entries, room, own)
  const out = Buffer.allocUnsafe(start + (bytes <= room ? bytes : bytesOf(written)))
  let at = writeHead(out, head)
  let before = -1
  for (const { place, entry } of written) {
    at = writeEntry(out, at, place - before - 1, entry)
    before = place
  }
  return { bytes: out.subarray(0, at), written }
}

const readIds = (reader: ByteReader, body: Buffer): readonly bigint[] | undefined => {
  const count = reader.varint()
  const start = count < 0 ? -1 : reader.skip(8 * count)
  if (start < 0) return undefined
  return Array.from({ length: count }, (_, at) => body.readBigUInt64LE(start + 8 * at))
}

const readBytes = (reader: ByteReader, body: Buffer): Buffer | undefined => {
  const length = reader.varint()
  const start = length < 0 ? -1 : reader.skip(length)
  return start < 0 ? undefined : body.subarray(start, start + length)
}

/** What was read; the entries are not looked at yet. */
export interface ReadSignedBody extends SignedBody {
  readonly shared: Buffer
  readonly entries: Buffer
}

/**
 * Reads all but the entries. Undefined when malformed. Never throws.
 * @param isSparse members are named by id
 */
export const readSignedBody = (body: Buffer, isSparse: boolean): ReadSignedBody | undefined => {
  const reader = new ByteReader(body)
  const shared = readBytes(reader, body)
  if (shared === undefined) return undefined
  const ids = isSparse ? readIds(reader, body) : undefined
  if (isSparse && ids === undefined) return undefined
  const digest = readBytes(reader, body)
  if (digest === undefined) return undefined
  return { shared, ids, digest, entries: body.subarray(reader.at) }
}
