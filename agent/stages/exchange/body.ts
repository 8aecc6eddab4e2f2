// SPDX-License-Identifier: Apache-2.0
import { FLAG } from '../../../vote/evidence.js'
import { AGE_UNKNOWN, ageOf, producedAtOf } from '../../records/age.js'
import { setBit } from '../../records/bits.js'
import { MAX_HEARTBEAT } from '../../records/heartbeat.js'
import {
  copyRow,
  eachSlot,
  readRows,
  ROWS_OVERHEAD,
  writeRows,
  type RecordRows,
  type Row,
} from './bit-rows.js'
import type { RecordDraft } from '../../records/record-draft.js'
import { FLAG_MASK, type RecordTable } from '../../records/table.js'
import { ByteReader, unzigzag, writeVarint, zigzag } from '../../../core/varint.js'
import { readScope, SPEAKS_OF_ALL, SPEAKS_OF_SOME, type Scope } from './scope.js'
import { SPARSE, type Header } from './wire.js'

/** Rows of the record's bits follow. */
const WIRE_ROWS = 64
/** Without a meaning yet: 0. */
const WIRE_RESERVED = 128
/** With any of these bits, more than the flag byte follows, or the message is malformed. */
const WIRE_MORE = FLAG.cloudCut | WIRE_ROWS | WIRE_RESERVED
/** A message asks its receiver to probe at most so many nodes at once. */
export const MAX_SUSPECTS = 64

const HEAD_BYTES = 4 + 5 + MAX_SUSPECTS * 8
/** Heartbeat, age, flags, cut seconds, and what rows need beside their bytes. */
const ENTRY_BYTES = 5 + 1 + 1 + 5 + ROWS_OVERHEAD
const CAP_BYTES = 1 << 20

/** Members that a sparse message may name: ours and theirs may differ, but not without end. */
export const maxEntries = (size: number): number => 2 * size + 64

/** The longest message that a zone of this size has use for; checked before anything else is. */
export const maxMessageBytes = (size: number): number => {
  const entries = maxEntries(size)
  const rowBytes = (entries + 7) >> 3
  return Math.min(CAP_BYTES, 96 + HEAD_BYTES + entries * (8 + ENTRY_BYTES + 2 * rowBytes))
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
  /** Members whose records are left out, since they sign statements of their own. */
  readonly leaveOut?: (index: number) => boolean
}

/**
 * Writes a table's state and reads others' into it. Dense: one entry per member in roster order. Sparse: the same
 * behind a list of the members' ids, and bits by place in that list, so it needs no common roster or topology.
 *
 * Entry: varint (zigzag(hb − baseHb) × 2 + 1 if a flag byte follows, else the entry before has the same flags), age,
 * [flags], [seconds since cloudCutAt], [rows]. Nothing known about a member: the two bytes 0, 255. A row is its first
 * byte, how many bytes (1 or more), the bytes. Rows: the down bits; or 1, 0, the bits of whom it has not looked at; or
 * 2, 0, both.
 */
export class BodyCodec {
  readonly #table: RecordTable
  readonly #draft: RecordDraft
  readonly #memberDown: Uint8Array
  readonly #memberUnlooked: Uint8Array
  /** Of the body that was read last, by its entries: the heartbeat, 0 where there is none. */
  readonly #hbs: Float64Array
  readonly #ages: Uint8Array
  readonly #flags: Uint8Array
  /** Where what the flags call for begins. */
  readonly #moreAt: Uint32Array
  #out = Buffer.allocUnsafe(1024)

  constructor(table: RecordTable) {
    this.#table = table
    this.#draft = table.makeDraft()
    this.#memberDown = new Uint8Array((table.size + 7) >> 3)
    this.#memberUnlooked = new Uint8Array((table.size + 7) >> 3)
    const entries = maxEntries(table.size)
    this.#hbs = new Float64Array(entries)
    this.#ages = new Uint8Array(entries)
    this.#flags = new Uint8Array(entries)
    this.#moreAt = new Uint32Array(entries)
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
    if (sparse) {
      out[at++] = this.#table.topology.kind === 'mesh' ? SPEAKS_OF_ALL : SPEAKS_OF_SOME
      for (const member of members) at = out.writeBigUInt64LE(member.id, at)
    }
    return Buffer.from(out.subarray(0, this.#writeEntries(at, order, now)))
  }

  #makeRoom(order: BodyOrder): void {
    const { downCount, unlookedCount, rowBytes, size } = this.#table
    const row = Math.max(rowBytes, this.#memberDown.length)
    let bytes = HEAD_BYTES + 1 + size * (ENTRY_BYTES + (order.sparse ? 8 : 0))
    for (let i = 0; i < size; i++) {
      if (downCount[i]! > 0) bytes += row
      if (unlookedCount[i]! > 0) bytes += row
    }
    if (bytes > this.#out.length) this.#out = Buffer.allocUnsafe(2 * bytes)
  }

  #writeEntries(start: number, order: BodyOrder, now: number): number {
    const { hb, producedAt, flags, cloudCutAt, size } = this.#table
    const { sparse, baseHb } = order
    const out = this.#out
    let at = start
    let lastFlags = 0
    for (let i = 0; i < size; i++) {
      const isKnown = this.#isIncluded(i, order)
      const delta = isKnown ? zigzag(hb[i]! - baseHb) : 0
      const age = isKnown ? ageOf(producedAt[i]!, now) : AGE_UNKNOWN
      if (delta === 0 && age === AGE_UNKNOWN) {
        out[at++] = 0
        out[at++] = AGE_UNKNOWN
        continue
      }
      const rows = this.#rowsOf(i, sparse)
      const wire = flags[i]! | (rows === undefined ? 0 : WIRE_ROWS)
      at = writeVarint(out, at, delta * 2 + (wire === lastFlags ? 0 : 1))
      out[at++] = age
      if (wire !== lastFlags) out[at++] = wire
      lastFlags = wire
      if ((wire & FLAG.cloudCut) !== 0) at = writeVarint(out, at, secondsSince(cloudCutAt[i]!, now))
      if (rows !== undefined) at = writeRows(out, at, rows)
    }
    return at
  }

  #isIncluded(origin: number, { leaveOut }: BodyOrder): boolean {
    return this.#table.hb[origin] !== 0 && leaveOut?.(origin) !== true
  }

  #rowsOf(origin: number, sparse: boolean): RecordRows<Uint8Array> | undefined {
    const { downCount, unlookedCount } = this.#table
    if (downCount[origin] === 0 && unlookedCount[origin] === 0) return undefined
    const rows = { down: this.#downOf(origin, sparse), unlooked: this.#unlookedOf(origin, sparse) }
    return rows.down === undefined && rows.unlooked === undefined ? undefined : rows
  }

  /** Whom the record calls down; undefined when nobody. */
  #downOf(origin: number, sparse: boolean): Uint8Array | undefined {
    const { bits, downCount, rowBytes } = this.#table
    if (downCount[origin] === 0) return undefined
    if (!sparse) return bits.subarray(origin * rowBytes, (origin + 1) * rowBytes)
    return this.#byMember(origin, this.#memberDown, target => this.#table.saysDown(origin, target))
  }

  /** Whom the record has not looked at; undefined when nobody. */
  #unlookedOf(origin: number, sparse: boolean): Uint8Array | undefined {
    const { unlooked, unlookedCount, rowBytes } = this.#table
    if (unlookedCount[origin] === 0) return undefined
    if (!sparse) return unlooked.subarray(origin * rowBytes, (origin + 1) * rowBytes)
    const isBlind = (target: number): boolean => !this.#table.hasLooked(origin, target)
    return this.#byMember(origin, this.#memberUnlooked, isBlind)
  }

  /** Backup observers' votes are left out: whose backup observer somebody is differs between rosters. */
  #byMember(
    origin: number,
    row: Uint8Array,
    holds: (target: number) => boolean,
  ): Uint8Array | undefined {
    row.fill(0)
    let count = 0
    for (const target of this.#table.topology.targetsOf(origin)) {
      if (!holds(target)) continue
      setBit(row, target)
      count++
    }
    return count === 0 ? undefined : row
  }

  /** Whether the records can be read: named by id, or by a place that means the same here. */
  canRead(header: Header): boolean {
    return header.flags === SPARSE || header.membershipHash === this.#table.hash
  }

  /**
   * Read a whole body, whose ages are as of `asOf`. Once all of it is known to be well-formed, and not before, its
   * records are handed out (the same draft every time), except those of third parties that are no newer than the table's.
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
    const scope = isSparse ? readScope(reader, body, count, this.#table.roster) : undefined
    if (isSparse && scope === undefined) return undefined
    const entries: Entries = { reader, body, asOf, scope, rows: NO_ROWS }
    if (!this.#scan(entries, header) || !reader.isAtEnd) return undefined
    if (take !== undefined) this.#handOut(entries, header, take)
    return head
  }

  /** Read every entry and note where its parts are. @returns whether all are well-formed */
  #scan(entries: Entries, { count, baseHb }: Header): boolean {
    const { reader } = entries
    const hbs = this.#hbs
    const ages = this.#ages
    const flags = this.#flags
    const moreAt = this.#moreAt
    let wire = 0
    for (let i = 0; i < count; i++) {
      const number = reader.varint()
      const age = reader.byte()
      if (number < 0 || age < 0) return false
      hbs[i] = 0
      if (number === 0 && age === AGE_UNKNOWN) continue
      const hasFlags = number % 2
      const hb = baseHb + unzigzag((number - hasFlags) / 2)
      if (hasFlags === 1) wire = reader.byte()
      if (hb < 1 || wire < 0) return false
      flags[i] = wire
      ages[i] = age
      moreAt[i] = reader.at
      if ((wire & WIRE_MORE) !== 0 && !this.#readMore(entries, wire)) return false
      // A heartbeat beyond the limit drops this record alone: the sender's other records still count.
      if (hb <= MAX_HEARTBEAT) hbs[i] = hb
    }
    return true
  }

  /** The records of a body that was scanned. */
  #handOut(
    entries: Entries,
    { count, senderId }: Header,
    take: (draft: RecordDraft) => void,
  ): void {
    const { scope, reader, asOf } = entries
    const { hb: known, self, roster } = this.#table
    const from = roster.indexOfId(senderId)
    const hbs = this.#hbs
    const draft = this.#draft
    for (let i = 0; i < count; i++) {
      const hb = hbs[i]!
      const origin = scope === undefined ? i : scope.indices[i]!
      if (hb === 0 || origin < 0) continue
      if (hb <= known[origin]! && origin !== from && origin !== self) continue
      draft.origin = origin
      draft.hb = hb
      draft.producedAt = producedAtOf(this.#ages[i]!, asOf)
      reader.at = this.#moreAt[i]!
      this.#readMore(entries, this.#flags[i]!)
      if (scope === undefined) this.#setRows(entries)
      else this.#setRowsByMember(entries, scope)
      take(draft)
    }
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

  /** The flags, and the fields that are there because of them. */
  #readMore(entries: Entries, wire: number): boolean {
    const draft = this.#draft
    if ((wire & WIRE_RESERVED) !== 0) return false
    draft.flags = wire & FLAG_MASK
    draft.cloudCutAt = -Infinity
    if ((wire & FLAG.cloudCut) !== 0) {
      const seconds = entries.reader.varint()
      if (seconds < 0) return false
      draft.cloudCutAt = entries.asOf - seconds * 1000
    }
    entries.rows = NO_ROWS
    if ((wire & WIRE_ROWS) === 0) return true
    const rows = readRows(entries.reader, this.#rowLimit(entries))
    if (rows !== undefined) entries.rows = rows
    return rows !== undefined
  }

  #rowLimit({ scope }: Entries): number {
    return scope === undefined ? this.#table.rowBytes : (scope.indices.length + 7) >> 3
  }

  /** Bring the entry's rows into the draft: places mean the same here. */
  #setRows({ body, rows: { down, unlooked } }: Entries): void {
    const draft = this.#draft
    draft.anyDown = down !== undefined
    draft.anyUnlooked = unlooked !== undefined
    if (down !== undefined) copyRow(draft.down, body, down)
    if (unlooked !== undefined) copyRow(draft.unlooked, body, unlooked)
  }

  /**
   * The same from another roster: bits become slots of the origin as we see it. Who is not named there was not looked
   * at. Where the sender's zone is rings the origin may not watch there whom we think it does, so what has no bit stays
   * as we knew it, and nobody's silence becomes an "up".
   */
  #setRowsByMember({ body, rows: { down, unlooked } }: Entries, scope: Scope): void {
    const draft = this.#draft
    const { topology, rowBytes, unlooked: known } = this.#table
    const { origin } = draft
    draft.anyDown = down !== undefined
    draft.down.fill(0)
    if (scope.speaksOfAll) draft.unlooked.fill(0)
    else draft.unlooked.set(known.subarray(origin * rowBytes, (origin + 1) * rowBytes))
    for (const target of topology.targetsOf(origin))
      if (scope.isNamed[target] === 0) setBit(draft.unlooked, topology.slotOf(origin, target))
    const slotAt = (place: number): number => {
      const target = scope.indices[place] ?? -1
      return target < 0 ? -1 : topology.slotOf(origin, target)
    }
    eachSlot(body, down, place => {
      const slot = slotAt(place)
      if (slot < 0) return
      setBit(draft.down, slot)
      draft.unlooked[slot >> 3]! &= ~(1 << (slot & 7))
    })
    eachSlot(body, unlooked, place => {
      const slot = slotAt(place)
      if (slot >= 0) setBit(draft.unlooked, slot)
    })
    draft.anyUnlooked = draft.unlooked.some(byte => byte !== 0)
  }
}

/** Where a pass through a body is. */
interface Entries {
  readonly reader: ByteReader
  readonly body: Buffer
  readonly asOf: number
  /** Undefined for a dense message. */
  readonly scope: Scope | undefined
  /** Of the entry that was read last. */
  rows: RecordRows<Row>
}

const NO_ROWS: RecordRows<Row> = { down: undefined, unlooked: undefined }

const secondsSince = (at: number, now: number): number =>
  Math.min(0xffff_ffff, Math.max(0, Math.round((now - at) / 1000)))
