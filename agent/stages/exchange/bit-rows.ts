// SPDX-License-Identifier: Apache-2.0
import { eachBit } from '../../records/bits.js'
import { writeVarint, type ByteReader } from '../../../core/varint.js'

/** Where a row lies in a body, and at which of its bytes it begins. */
export interface Row {
  readonly first: number
  readonly at: number
  readonly length: number
}

/** The rows of one record on the wire; undefined where no bit is set. */
export interface RecordRows<T> {
  readonly down: T | undefined
  readonly unlooked: T | undefined
}

/** In the place of a row's first byte, with a length of 0: says which rows follow, unless only the down bits do. */
const FOLLOW = { unlooked: 1, both: 2 } as const

/** What two rows need beside their bytes: which rows they are, where each begins and how long it is. */
export const ROWS_OVERHEAD = 2 + 2 * (3 + 3)

/** Write what is there, at least one of them. @returns where the next byte goes. */
export const writeRows = (
  out: Buffer,
  start: number,
  { down, unlooked }: RecordRows<Uint8Array>,
): number => {
  let at = start
  if (unlooked !== undefined) {
    out[at++] = down === undefined ? FOLLOW.unlooked : FOLLOW.both
    out[at++] = 0
  }
  if (down !== undefined) at = writeRow(out, at, down)
  return unlooked === undefined ? at : writeRow(out, at, unlooked)
}

/** Writes only the bytes from the first set bit to the last: usually few bits are set. */
const writeRow = (out: Buffer, start: number, row: Uint8Array): number => {
  let first = 0
  while (row[first] === 0) first++
  let end = row.length
  while (row[end - 1] === 0) end--
  let at = writeVarint(out, start, first)
  at = writeVarint(out, at, end - first)
  for (let i = first; i < end; i++) out[at++] = row[i]!
  return at
}

/** @returns undefined when malformed, or longer than `limit` bytes. */
export const readRows = (reader: ByteReader, limit: number): RecordRows<Row> | undefined => {
  const first = reader.varint()
  const length = reader.varint()
  if (length !== 0) {
    const down = rowAt(reader, { first, length }, limit)
    return down === undefined ? undefined : { down, unlooked: undefined }
  }
  if (first !== FOLLOW.unlooked && first !== FOLLOW.both) return undefined
  const down = first === FOLLOW.both ? nextRow(reader, limit) : undefined
  if (first === FOLLOW.both && down === undefined) return undefined
  const unlooked = nextRow(reader, limit)
  return unlooked === undefined ? undefined : { down, unlooked }
}

const nextRow = (reader: ByteReader, limit: number): Row | undefined =>
  rowAt(reader, { first: reader.varint(), length: reader.varint() }, limit)

const rowAt = (
  reader: ByteReader,
  { first, length }: Omit<Row, 'at'>,
  limit: number,
): Row | undefined => {
  if (first < 0 || length < 1 || first + length > limit) return undefined
  const at = reader.skip(length)
  return at < 0 ? undefined : { first, at, length }
}

/** The row as a whole, out of a body. */
export const copyRow = (to: Uint8Array, body: Buffer, { first, at, length }: Row): void => {
  to.fill(0)
  to.set(body.subarray(at, at + length), first)
}

/** The slots whose bit is set in a row of a body. */
export const eachSlot = (body: Buffer, row: Row | undefined, act: (slot: number) => void): void => {
  for (let byte = 0; byte < (row?.length ?? 0); byte++)
    eachBit(body[row!.at + byte]!, row!.first + byte, act)
}
