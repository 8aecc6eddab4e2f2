// SPDX-License-Identifier: Apache-2.0
import { WireError } from './wire-error.js'

/** Bytes from `start` up to, not including, `end`. */
export interface Range {
  readonly start: number
  readonly end: number
}

export const VARINT = 0
export const BYTES = 2
const FIXED64 = 1
const FIXED32 = 5

const MAX_FIELD = 2 ** 29 - 1
/** Up to this shift, seven more bits fit JavaScript's 32-bit shifts. */
const SHIFTABLE = 28
/** The value of the tenth byte's lowest bit, in units of 2^28. */
const LAST_SCALE = 2 ** 35

/** A view of the same memory. Node.js' Buffer decodes short text three times as fast as a TextDecoder. */
const bufferOf = (raw: Uint8Array): Buffer =>
  Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)

/**
 * Iterates over the fields of one message: `next()` moves on, and the members describe the present field. It is a single
 * mutable object, since a list of 150 000 endpoints has millions of fields.
 */
export class Fields {
  readonly raw: Buffer
  /** Field number, and wire type: VARINT or BYTES; fields of other types are skipped. */
  number = 0
  type = VARINT
  /** Where the field begins, with its tag. */
  start: number
  /** Where its content begins: after the length, for BYTES. */
  from: number
  /** Where the field ends. */
  end: number
  readonly #first: number
  readonly #limit: number
  #value = 0

  constructor(raw: Uint8Array, start = 0, limit: number = raw.length) {
    this.raw = bufferOf(raw)
    this.start = start
    this.from = start
    this.end = start
    this.#first = start
    this.#limit = limit
  }

  /** A new iterator over the same fields. */
  again(): Fields {
    return new Fields(this.raw, this.#first, this.#limit)
  }

  /** The fields of the message in the present field. */
  inside(): Fields {
    if (this.type !== BYTES) throw new WireError(`field ${this.number}`, 'must be a message')
    return new Fields(this.raw, this.from, this.end)
  }

  /** The present field's number as an int64, exact up to 2^53 and rounded beyond. */
  integer(): number {
    if (this.type !== VARINT) throw new WireError(`field ${this.number}`, 'must be a number')
    return this.#value
  }

  /** The present field's number as an int64, in decimal digits without rounding. */
  decimal(): string {
    const near = this.integer()
    if (Number.isSafeInteger(near)) return String(near)
    let at = this.start
    while (this.raw[at]! >= 128) at++
    let exact = 0n
    for (let shift = 0n; ++at < this.end; shift += 7n)
      exact |= BigInt(this.raw[at]! & 0x7f) << shift
    return String(BigInt.asIntN(64, exact))
  }

  /** The present field's bytes; a view of `raw`, not a copy. */
  content(): Uint8Array {
    if (this.type !== BYTES) throw new WireError(`field ${this.number}`, 'must be bytes')
    return this.raw.subarray(this.from, this.end)
  }

  /** The whole present field with its tag; a view of `raw`, not a copy. */
  whole(): Uint8Array {
    return this.raw.subarray(this.start, this.end)
  }

  /** The place of the present field's text. */
  textRange(): Range {
    if (this.type !== BYTES) throw new WireError(`field ${this.number}`, 'must be text')
    return { start: this.from, end: this.end }
  }

  /** The present field's text; invalid UTF-8 becomes U+FFFD, as in Go's JSON. */
  text(): string {
    if (this.type !== BYTES) throw new WireError(`field ${this.number}`, 'must be text')
    return this.raw.toString('utf8', this.from, this.end)
  }

  /** Move to the next field; false at the end of the message. @throws WireError when the bytes are not fields */
  next(): boolean {
    if (this.end >= this.#limit) return false
    this.start = this.end
    this.from = this.end
    const tag = this.#varint()
    this.type = tag & 7
    this.number = Math.floor(tag / 8)
    if (tag < 8 || this.number > MAX_FIELD) throw new WireError('field', 'must have a number')
    this.#readContent()
    return true
  }

  #readContent(): void {
    if (this.type === VARINT) {
      this.#value = this.#varint()
      this.end = this.from
    } else if (this.type === BYTES) {
      const length = this.#varint()
      this.#endsAt(this.from + length)
    } else if (this.type === FIXED64) this.#endsAt(this.from + 8)
    else if (this.type === FIXED32) this.#endsAt(this.from + 4)
    else throw new WireError(`field ${this.number}`, 'must have a known wire type')
  }

  #endsAt(end: number): void {
    // A length of 2^63 or more was read as a negative number.
    if (end < this.from || end > this.#limit)
      throw new WireError(`field ${this.number}`, 'must end within its message')
    this.end = end
  }

  /** The varint at `from`; moves `from` behind it. */
  #varint(): number {
    const { raw } = this
    const limit = this.#limit
    let at = this.from
    let value = 0
    for (let shift = 0; shift < SHIFTABLE; shift += 7) {
      if (at >= limit) throw new WireError('number', 'must end within its message')
      const byte = raw[at++]!
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) {
        this.from = at
        return value
      }
    }
    return this.#longVarint(at, value)
  }

  /** Bytes five to ten of a varint; ten bytes have 64 bits, in two's complement. */
  #longVarint(start: number, low: number): number {
    let at = start
    let high = 0
    let scale = 1
    let byte: number
    do {
      if (at >= this.#limit) throw new WireError('number', 'must end within its message')
      byte = this.raw[at++]!
      // The tenth byte has only one of the 64 bits, and no byte may follow it.
      if (scale === LAST_SCALE && byte > 1) throw new WireError('number', 'must fit 64 bits')
      high += (byte & 0x7f) * scale
      scale *= 128
    } while (byte >= 0x80)
    this.from = at
    return signed(low, high)
  }
}

/** An int64 from its 28 low and 36 high bits; small negative numbers stay exact. */
const signed = (low: number, high: number): number =>
  high < 2 ** 35 ? high * 2 ** SHIFTABLE + low : (high - 2 ** 36) * 2 ** SHIFTABLE + low

/**
 * The bytes without these ranges, which must be ascending and not overlap. Without ranges it returns the same buffer.
 * @throws RangeError for ranges out of order or out of bounds
 */
export const cut = (raw: Uint8Array, ranges: readonly Range[]): Uint8Array => {
  let gone = 0
  let last = 0
  for (const { start, end } of ranges) {
    if (start < last || end < start || end > raw.length)
      throw new RangeError(`range ${start}–${end} must follow ${last}, within ${raw.length} bytes`)
    gone += end - start
    last = end
  }
  if (gone === 0) return raw
  const left = new Uint8Array(raw.length - gone)
  let from = 0
  let at = 0
  const keepTo = (to: number): void => {
    if (to > from) left.set(raw.subarray(from, to), at)
    at += to - from
  }
  for (const { start, end } of ranges) {
    keepTo(start)
    from = end
  }
  keepTo(raw.length)
  return left
}
