// SPDX-License-Identifier: Apache-2.0
import { ONE_BYTE, writeVarint, zigzag } from '../../../core/varint.js'
import { FLAG } from '../../../vote/evidence.js'
import { AGE_UNKNOWN, ageOf } from '../../records/age.js'
import { setBit } from '../../records/bits.js'
import type { RecordTable } from '../../records/table.js'
import { writeRows, type RecordRows } from './bit-rows.js'
import { ENTRY_BYTES, HEAD_BYTES, WIRE_MORE, WIRE_ROWS, type BodyOrder } from './body.js'
import { SPEAKS_OF_ALL, SPEAKS_OF_SOME } from './scope.js'

const secondsSince = (at: number, now: number): number =>
  Math.min(0xffff_ffff, Math.max(0, Math.round((now - at) / 1000)))

/** Writes a table's state as a body; see body.ts for the form. */
export class BodyWriter {
  readonly #table: RecordTable
  readonly #memberDown: Uint8Array
  readonly #memberUnlooked: Uint8Array
  /** Always has room for at least a head. */
  #out = Buffer.allocUnsafe(Math.max(1024, HEAD_BYTES))

  constructor(table: RecordTable) {
    this.#table = table
    this.#memberDown = new Uint8Array((table.size + 7) >> 3)
    this.#memberUnlooked = new Uint8Array((table.size + 7) >> 3)
  }

  /** Returns a copy; ages are as of `now`. */
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
    if (order.isEmpty === true) return
    const { downCount, unlookedCount, rowBytes, size } = this.#table
    const row = Math.max(rowBytes, this.#memberDown.length)
    let bytes = HEAD_BYTES + 1 + size * (ENTRY_BYTES + (order.sparse ? 8 : 0))
    for (let i = 0; i < size; i++) {
      if (downCount[i]! > 0) bytes += row
      if (unlookedCount[i]! > 0) bytes += row
    }
    if (bytes > this.#out.length) this.#out = Buffer.allocUnsafe(2 * bytes)
  }

  /** What nearly every entry has is written inline: in V8's interpreter a call costs more than all the rest. */
  #writeEntries(start: number, order: BodyOrder, now: number): number {
    const { hb, producedAt, flags, downCount, unlookedCount, size } = this.#table
    const { sparse, baseHb } = order
    const included = this.#included(order)
    const out = this.#out
    let at = start
    let lastFlags = 0
    for (let i = 0; i < size; i++) {
      const age = included[i] === 0 ? AGE_UNKNOWN : ageOf(producedAt[i]!, now)
      if (age === AGE_UNKNOWN && (included[i] === 0 || hb[i] === baseHb)) {
        out[at++] = 0
        out[at++] = AGE_UNKNOWN
        continue
      }
      const rows = downCount[i]! + unlookedCount[i]! > 0 ? this.#rowsOf(i, sparse) : undefined
      const wire = rows === undefined ? flags[i]! : flags[i]! | WIRE_ROWS
      const number = zigzag(hb[i]! - baseHb) * 2 + (wire === lastFlags ? 0 : 1)
      if (number < ONE_BYTE) out[at++] = number
      else at = writeVarint(out, at, number)
      out[at++] = age
      if (wire !== lastFlags) out[at++] = wire
      lastFlags = wire
      if ((wire & WIRE_MORE) !== 0) at = this.#writeMore(at, i, rows, now)
    }
    return at
  }

  /** What the flags call for. */
  #writeMore(
    start: number,
    origin: number,
    rows: RecordRows<Uint8Array> | undefined,
    now: number,
  ): number {
    const { flags, cloudCutAt } = this.#table
    const out = this.#out
    const isCut = (flags[origin]! & FLAG.cloudCut) !== 0
    const at = isCut ? writeVarint(out, start, secondsSince(cloudCutAt[origin]!, now)) : start
    return rows === undefined ? at : writeRows(out, at, rows)
  }

  /** By place, 0 where nothing of the member is written. */
  #included({ leaveOut }: BodyOrder): ArrayLike<number> {
    const { hb } = this.#table
    return leaveOut === undefined ? hb : hb.map((beat, index) => (leaveOut(index) ? 0 : beat))
  }

  #rowsOf(origin: number, sparse: boolean): RecordRows<Uint8Array> | undefined {
    const rows = { down: this.#downOf(origin, sparse), unlooked: this.#unlookedOf(origin, sparse) }
    return rows.down === undefined && rows.unlooked === undefined ? undefined : rows
  }

  /** The members that the record says are down; undefined for none. */
  #downOf(origin: number, sparse: boolean): Uint8Array | undefined {
    const { bits, downCount, rowBytes } = this.#table
    if (downCount[origin] === 0) return undefined
    if (!sparse) return bits.subarray(origin * rowBytes, (origin + 1) * rowBytes)
    return this.#byMember(origin, this.#memberDown, target => this.#table.saysDown(origin, target))
  }

  /** The members that the record has not looked at; undefined for none. */
  #unlookedOf(origin: number, sparse: boolean): Uint8Array | undefined {
    const { unlooked, unlookedCount, rowBytes } = this.#table
    if (unlookedCount[origin] === 0) return undefined
    if (!sparse) return unlooked.subarray(origin * rowBytes, (origin + 1) * rowBytes)
    const isBlind = (target: number): boolean => !this.#table.hasLooked(origin, target)
    return this.#byMember(origin, this.#memberUnlooked, isBlind)
  }

  /** Backup observers' votes are left out: rosters differ in who is whose backup observer. */
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
}
