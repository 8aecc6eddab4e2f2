// SPDX-License-Identifier: Apache-2.0
import { ByteReader, ONE_BYTE, unzigzag } from '../../../core/varint.js'
import { FLAG } from '../../../vote/evidence.js'
import { AGE_UNKNOWN, producedAtOf } from '../../records/age.js'
import { setBit } from '../../records/bits.js'
import { MAX_HEARTBEAT } from '../../records/heartbeat.js'
import type { RecordDraft } from '../../records/record-draft.js'
import { FLAG_MASK, type RecordTable } from '../../records/table.js'
import { copyRow, eachSlot, readRows, type RecordRows, type Row } from './bit-rows.js'
import {
  MAX_SUSPECTS,
  maxEntries,
  WIRE_MORE,
  WIRE_RESERVED,
  WIRE_ROWS,
  type BodyHead,
} from './body.js'
import { readScope, type Scope } from './scope.js'
import { SPARSE, type Header } from './wire.js'

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

/** Reads the bodies of others as records of the own table. */
export class BodyReader {
  readonly #table: RecordTable
  readonly #draft: RecordDraft
  /** The heartbeat in each entry of the body that was read last; 0 where there is none. */
  readonly #hbs: Float64Array
  readonly #ages: Uint8Array
  readonly #flags: Uint8Array
  /** Where the parts begin that the flags call for. */
  readonly #moreAt: Uint32Array

  constructor(table: RecordTable) {
    this.#table = table
    this.#draft = table.makeDraft()
    const entries = maxEntries(table.size)
    this.#hbs = new Float64Array(entries)
    this.#ages = new Uint8Array(entries)
    this.#flags = new Uint8Array(entries)
    this.#moreAt = new Uint32Array(entries)
  }

  /** Whether the records can be read: named by id, or by a place that means the same here. */
  canRead(header: Header): boolean {
    return header.flags === SPARSE || header.membershipHash === this.#table.hash
  }

  /**
   * Read a whole body, whose ages are as of `asOf`. Once all of it is known to be well-formed, and not before, its
   * records are handed out (the same draft every time), except third parties' records that are not newer than the table's.
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

  /**
   * Read every entry and note where its parts are. Bytes are read inline, since in V8's interpreter a call costs more than
   * all the rest. Bytes beyond the end read as undefined.
   * @returns whether all are well-formed
   */
  #scan(entries: Entries, { count, baseHb }: Header): boolean {
    const { reader, body } = entries
    const hbs = this.#hbs
    const ages = this.#ages
    const flags = this.#flags
    const moreAt = this.#moreAt
    let wire: number | undefined = 0
    let { at } = reader
    for (let i = 0; i < count; i++) {
      let number = body[at]!
      if (number < ONE_BYTE) at++
      else {
        reader.at = at
        number = reader.varint()
        ;({ at } = reader)
      }
      const age = body[at++]
      if (number < 0 || age === undefined) return false
      hbs[i] = 0
      if (number === 0 && age === AGE_UNKNOWN) continue
      const hasFlags = number % 2
      const hb = baseHb + unzigzag((number - hasFlags) / 2)
      if (hasFlags === 1) wire = body[at++]
      if (hb < 1 || wire === undefined) return false
      flags[i] = wire
      ages[i] = age
      moreAt[i] = at
      if ((wire & WIRE_MORE) !== 0) {
        reader.at = at
        if (!this.#readMore(entries, wire)) return false
        ;({ at } = reader)
      }
      hbs[i] = hb
    }
    reader.at = at
    return true
  }

  /** The records of a body that was scanned. */
  #handOut(
    entries: Entries,
    { count, senderId }: Header,
    take: (draft: RecordDraft) => void,
  ): void {
    const { scope, asOf } = entries
    const { hb: known, self, roster } = this.#table
    const from = roster.indexOfId(senderId)
    const hbs = this.#hbs
    const draft = this.#draft
    for (let i = 0; i < count; i++) {
      const hb = hbs[i]!
      const origin = scope === undefined ? i : scope.indices[i]!
      // A heartbeat beyond the limit drops this record alone: the sender's other records still count.
      if (hb === 0 || hb > MAX_HEARTBEAT || origin < 0) continue
      if (hb <= known[origin]! && origin !== from && origin !== self) continue
      draft.origin = origin
      draft.hb = hb
      draft.producedAt = producedAtOf(this.#ages[i]!, asOf)
      this.#fill(entries, this.#flags[i]!, this.#moreAt[i]!)
      take(draft)
    }
  }

  /** Copy what follows an entry's age into the draft. */
  #fill(entries: Entries, wire: number, moreAt: number): void {
    const draft = this.#draft
    if ((wire & WIRE_MORE) === 0 && entries.scope === undefined) {
      draft.flags = wire
      draft.cloudCutAt = -Infinity
      draft.anyDown = false
      draft.anyUnlooked = false
      return
    }
    entries.reader.at = moreAt
    this.#readMore(entries, wire)
    if (entries.scope === undefined) this.#setRows(entries)
    else this.#setRowsByMember(entries, entries.scope)
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

  /** Copy the entry's rows into the draft, from a sender with our roster: places mean the same here. */
  #setRows({ body, rows: { down, unlooked } }: Entries): void {
    const draft = this.#draft
    draft.anyDown = down !== undefined
    draft.anyUnlooked = unlooked !== undefined
    if (down !== undefined) copyRow(draft.down, body, down)
    if (unlooked !== undefined) copyRow(draft.unlooked, body, unlooked)
  }

  /**
   * The same from another roster: bits become slots of the origin as we see it. A member that is not named there counts
   * as "not looked". In rings the sender's roster may give the origin other targets, so a target that was "not looked"
   * here stays so without a bit: silence never turns it into "up".
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
