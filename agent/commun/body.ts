// SPDX-License-Identifier: Apache-2.0
import { FLAG } from '../../vote/evidence.js'
import { MAX_HEARTBEAT } from './heartbeat.js'
import { FLAG_MASK, type RecordDraft, type RecordTable } from './table.js'
import { ByteReader, unzigzag, writeVarint, zigzag } from './varint.js'
import { SPARSE, type Header } from './wire.js'

/** Ages travel in quarters of a second, rounded up: information never looks younger for having been passed on. */
const AGE_UNIT_MS = 250
const AGE_UNKNOWN = 255
/** The record's down bits follow. */
const WIRE_DOWN = 64
/** The record was made from a SuperEdge result. */
const WIRE_FOREIGN = 128
/** A message names at most so many whom the receiver shall probe at once. */
export const MAX_SUSPECTS = 64

const HEAD_BYTES = 4 + 5 + MAX_SUSPECTS * 8
/** Heartbeat, age, flags, cut seconds, and where the down bits begin and how many bytes they are. */
const ENTRY_BYTES = 5 + 1 + 1 + 5 + 3 + 3
const CAP_BYTES = 1 << 20

/** Members that a sparse message may name: ours and theirs may differ, but not without end. */
const maxEntries = (size: number): number => 2 * size + 64

/** The longest message that a zone of this size has use for; checked before anything else is. */
export const maxMessageBytes = (size: number): number => {
  const entries = maxEntries(size)
  const rowBytes = (entries + 7) >> 3
  return Math.min(CAP_BYTES, 96 + HEAD_BYTES + entries * (8 + ENTRY_BYTES + rowBytes))
}

/** What the sender says beside its records. */
export interface BodyHead {
  readonly keySetHash: number
  /** Roster indices of the receiver; who is not in its roster is left out. */
  readonly suspects: readonly number[]
}

export interface BodyOrder {
  readonly sparse: boolean
  readonly keySetHash: number
  /** What heartbeats are relative to; the header carries it. */
  readonly baseHb: number
  /** Roster indices. */
  readonly suspects: readonly number[]
  /** Without records: acknowledgements and challenges. */
  readonly isEmpty?: boolean
}

/**
 * Writes a table's state and reads others' into it. Dense: one entry per member in roster order. Sparse: the same
 * behind a list of the members' ids, and down bits by place in that list, so it needs no common roster or topology.
 *
 * Entry: varint (zigzag(hb − baseHb) × 2 + 1 if a flag byte follows, else the entry before has the same flags), age,
 * [flags], [seconds since cloudCutAt], [first byte of the down bits, how many bytes, the bytes]. Nothing known about a
 * member: the two bytes 0, 255.
 */
export class BodyCodec {
  readonly #table: RecordTable
  readonly #draft: RecordDraft
  readonly #memberBits: Uint8Array
  #out = Buffer.allocUnsafe(1024)

  constructor(table: RecordTable) {
    this.#table = table
    this.#draft = table.makeDraft()
    this.#memberBits = new Uint8Array((table.size + 7) >> 3)
  }

  /** A copy of its own; ages are as of `now`. */
  encode(order: BodyOrder, now: number): Buffer {
    this.#makeRoom(order)
    const { sparse, suspects } = order
    const members = this.#table.roster.members
    const out = this.#out
    let at = out.writeUInt32LE(order.keySetHash, 0)
    at = writeVarint(out, at, suspects.length)
    for (const index of suspects) {
      at = sparse ? out.writeBigUInt64LE(members[index]!.id, at) : writeVarint(out, at, index)
    }
    if (order.isEmpty === true) return Buffer.from(out.subarray(0, at))
    if (sparse) for (const member of members) at = out.writeBigUInt64LE(member.id, at)
    return Buffer.from(out.subarray(0, this.#writeEntries(at, order, now)))
  }

  #makeRoom(order: BodyOrder): void {
    const { downCount, rowBytes, size } = this.#table
    const row = Math.max(rowBytes, this.#memberBits.length)
    let bytes = HEAD_BYTES + size * (ENTRY_BYTES + (order.sparse ? 8 : 0))
    for (let i = 0; i < size; i++) if (downCount[i]! > 0) bytes += row
    if (bytes > this.#out.length) this.#out = Buffer.allocUnsafe(2 * bytes)
  }

  #writeEntries(start: number, order: BodyOrder, now: number): number {
    const { hb, producedAt, flags, foreign, cloudCutAt, size } = this.#table
    const out = this.#out
    let at = start
    let lastFlags = 0
    for (let i = 0; i < size; i++) {
      const delta = hb[i] === 0 ? 0 : zigzag(hb[i]! - order.baseHb)
      const age = ageOf(hb[i] === 0 ? -Infinity : producedAt[i]!, now)
      if (delta === 0 && age === AGE_UNKNOWN) {
        out[at++] = 0
        out[at++] = AGE_UNKNOWN
        continue
      }
      const row = this.#rowOf(i, order.sparse)
      const wire =
        flags[i]! | (row === undefined ? 0 : WIRE_DOWN) | (foreign[i] === 1 ? WIRE_FOREIGN : 0)
      at = writeVarint(out, at, delta * 2 + (wire === lastFlags ? 0 : 1))
      out[at++] = age
      if (wire !== lastFlags) out[at++] = wire
      lastFlags = wire
      if ((wire & FLAG.cloudCut) !== 0) at = writeVarint(out, at, secondsSince(cloudCutAt[i]!, now))
      if (row !== undefined) at = this.#writeRow(at, row)
    }
    return at
  }

  /** Only the bytes between the first and the last bit: mostly few members are down. */
  #writeRow(start: number, row: Uint8Array): number {
    let first = 0
    while (row[first] === 0) first++
    let end = row.length
    while (row[end - 1] === 0) end--
    let at = writeVarint(this.#out, start, first)
    at = writeVarint(this.#out, at, end - first)
    for (let i = first; i < end; i++) this.#out[at++] = row[i]!
    return at
  }

  /** What the record says of others; undefined when nothing. */
  #rowOf(origin: number, sparse: boolean): Uint8Array | undefined {
    const { bits, downCount, rowBytes } = this.#table
    if (downCount[origin] === 0) return undefined
    return sparse
      ? this.#byMember(origin)
      : bits.subarray(origin * rowBytes, (origin + 1) * rowBytes)
  }

  /** Stand-ins' votes are left out: whose stand-in somebody is differs between rosters. */
  #byMember(origin: number): Uint8Array | undefined {
    const bits = this.#memberBits.fill(0)
    let count = 0
    for (const target of this.#table.topology.targetsOf(origin)) {
      if (!this.#table.saysDown(origin, target)) continue
      bits[target >> 3]! |= 1 << (target & 7)
      count++
    }
    return count === 0 ? undefined : bits
  }

  /** Whether the records can be read: named by id, or by a place that means the same here. */
  canRead(header: Header): boolean {
    return header.flags === SPARSE || header.membershipHash === this.#table.hash
  }

  /**
   * Read a whole body, whose ages are as of `asOf`. The first pass without `take` proves that all of it is well-formed; only then is it worth a
   * second pass that hands out each record (the same draft every time).
   * @returns undefined when anything is wrong: a length that lies, a number too large, bytes left over.
   */
  read(
    header: Header,
    body: Buffer,
    asOf: number,
    take?: (draft: RecordDraft) => void,
  ): BodyHead | undefined {
    const { count } = header
    const isSparse = header.flags === SPARSE
    const { size } = this.#table
    if (isSparse ? count > maxEntries(size) : count !== 0 && count !== size) return undefined
    const reader = new ByteReader(body)
    const head = this.#readHead(reader, body, isSparse)
    if (head === undefined) return undefined
    const indices = isSparse ? this.#readIds(reader, body, count) : undefined
    if (isSparse && indices === undefined) return undefined
    const entries: Entries = { reader, body, header, asOf, indices, lastFlags: 0 }
    return this.#readEntries(entries, take) && reader.isAtEnd ? head : undefined
  }

  #readEntries(entries: Entries, take: ((draft: RecordDraft) => void) | undefined): boolean {
    const { indices, header } = entries
    const draft = this.#draft
    for (let i = 0; i < header.count; i++) {
      const kind = this.#readEntry(entries)
      if (kind === 'bad') return false
      if (take === undefined || kind === 'nothing') continue
      draft.origin = indices === undefined ? i : indices[i]!
      if (draft.origin < 0) continue
      this.#setDown(entries)
      take(draft)
    }
    return true
  }

  #readHead(reader: ByteReader, body: Buffer, isSparse: boolean): BodyHead | undefined {
    const start = reader.skip(4)
    const count = start < 0 ? -1 : reader.varint()
    if (count < 0 || count > MAX_SUSPECTS) return undefined
    const suspects: number[] = []
    for (let i = 0; i < count; i++) {
      const at = isSparse ? reader.skip(8) : reader.varint()
      if (at < 0) return undefined
      const index = isSparse ? this.#table.roster.indexOfId(body.readBigUInt64LE(at)) : at
      if (index !== undefined && index < this.#table.size) suspects.push(index)
    }
    return { keySetHash: body.readUInt32LE(0), suspects }
  }

  #readIds(reader: ByteReader, body: Buffer, count: number): Int32Array | undefined {
    const start = reader.skip(8 * count)
    if (start < 0) return undefined
    const indices = new Int32Array(count)
    for (let i = 0; i < count; i++) {
      indices[i] = this.#table.roster.indexOfId(body.readBigUInt64LE(start + 8 * i)) ?? -1
    }
    return indices
  }

  #readEntry(entries: Entries): 'record' | 'nothing' | 'bad' {
    const { reader, header, asOf } = entries
    const draft = this.#draft
    const number = reader.varint()
    const age = reader.byte()
    if (number < 0 || age < 0) return 'bad'
    if (number === 0 && age === AGE_UNKNOWN) return 'nothing'
    draft.hb = header.baseHb + unzigzag(Math.floor(number / 2))
    draft.producedAt = age === AGE_UNKNOWN ? -Infinity : asOf - age * AGE_UNIT_MS
    if (number % 2 === 1) entries.lastFlags = reader.byte()
    const isValid = draft.hb >= 1 && entries.lastFlags >= 0
    if (!isValid || !this.#readFlagged(entries)) return 'bad'
    // Whoever passes such a record on must still be heard about the others.
    return draft.hb <= MAX_HEARTBEAT ? 'record' : 'nothing'
  }

  /** The flags, and the fields that are there because of them. */
  #readFlagged(entries: Entries): boolean {
    const draft = this.#draft
    const wire = entries.lastFlags
    draft.flags = wire & FLAG_MASK
    draft.foreign = (wire & WIRE_FOREIGN) !== 0
    draft.anyDown = (wire & WIRE_DOWN) !== 0
    draft.cloudCutAt = -Infinity
    if ((wire & FLAG.cloudCut) !== 0) {
      const seconds = entries.reader.varint()
      if (seconds < 0) return false
      draft.cloudCutAt = entries.asOf - seconds * 1000
    }
    return !draft.anyDown || readRow(entries, this.#rowLimit(entries))
  }

  #rowLimit(entries: Entries): number {
    return entries.indices === undefined ? this.#table.rowBytes : (entries.indices.length + 7) >> 3
  }

  /** Bring the entry's down bits into the draft, as slots of its origin. */
  #setDown(entries: Entries): void {
    const draft = this.#draft
    if (!draft.anyDown) return
    draft.down.fill(0)
    const { body, indices, rowFirst = 0, rowAt = 0, rowLength = 0 } = entries
    if (indices === undefined) {
      draft.down.set(body.subarray(rowAt, rowAt + rowLength), rowFirst)
      return
    }
    for (let bit = 0; bit < rowLength * 8; bit++) {
      if (((body[rowAt + (bit >> 3)]! >> (bit & 7)) & 1) === 0) continue
      const target = indices[rowFirst * 8 + bit] ?? -1
      const slot = target < 0 ? -1 : this.#table.topology.slotOf(draft.origin, target)
      if (slot >= 0) draft.down[slot >> 3]! |= 1 << (slot & 7)
    }
  }
}

/** Where a pass through a body is. */
interface Entries {
  readonly reader: ByteReader
  readonly body: Buffer
  readonly header: Header
  readonly asOf: number
  /** Own index of each member that a sparse message names, −1 for strangers; undefined for a dense one. */
  readonly indices: Int32Array | undefined
  lastFlags: number
  rowFirst?: number
  rowAt?: number
  rowLength?: number
}

const readRow = (entries: Entries, limit: number): boolean => {
  const first = entries.reader.varint()
  const length = entries.reader.varint()
  if (first < 0 || length < 1 || first + length > limit) return false
  const at = entries.reader.skip(length)
  entries.rowFirst = first
  entries.rowAt = at
  entries.rowLength = length
  return at >= 0
}

const ageOf = (producedAt: number, now: number): number => {
  const units = Math.ceil((now - producedAt) / AGE_UNIT_MS)
  return units >= AGE_UNKNOWN ? AGE_UNKNOWN : Math.max(0, units)
}

const secondsSince = (at: number, now: number): number =>
  Math.min(0xffff_ffff, Math.max(0, Math.round((now - at) / 1000)))
