// SPDX-License-Identifier: Apache-2.0
import { BYTES, VARINT } from './fields.js'
import { Growing } from './growing.js'

const encoder = new TextEncoder()
const LOW = 2 ** 32

/** The size in bytes of a varint from 0 to 2^53. */
export const varintSize = (value: number): number => {
  let size = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++
  return size
}

/** Collects the bytes of a message. Negative numbers are written as int64, in ten bytes, as Go does. */
export class Sink extends Growing {
  varint(value: number): this {
    this.reserve(value < 0 ? 10 : varintSize(value))
    if (value < 0) return this.#long(BigInt(value))
    let rest = value
    for (; rest >= LOW; rest = Math.floor(rest / 128)) this.#put((rest % 128) | 0x80)
    for (rest >>>= 0; rest >= 128; rest >>>= 7) this.#put((rest & 0x7f) | 0x80)
    this.#put(rest)
    return this
  }

  /** A whole field that is a number. */
  number(field: number, value: number): this {
    return this.varint(field * 8 + VARINT).varint(value)
  }

  /** A whole field that is a number of 64 bits. */
  long(field: number, value: bigint): this {
    this.varint(field * 8 + VARINT).reserve(10)
    return this.#long(value)
  }

  /** A whole field that is text. */
  text(field: number, value: string): this {
    // At most three bytes for each UTF-16 unit.
    this.reserve(20 + value.length * 3)
    return this.message(field, () => {
      this.used += encoder.encodeInto(value, this.memory.subarray(this.used)).written
    })
  }

  /** A whole field around these bytes. */
  bytes(field: number, value: Uint8Array): this {
    return this.varint(field * 8 + BYTES)
      .varint(value.length)
      .copy(value)
  }

  /** A whole field around what `write` writes into this very sink. */
  message(field: number, write: (inside: Sink) => unknown): this {
    this.varint(field * 8 + BYTES)
    this.reserve(1)
    const from = ++this.used
    write(this)
    const size = this.used - from
    const extra = varintSize(size) - 1
    this.reserve(extra)
    // Nearly all messages are shorter than 128 bytes; the others move over by the bytes that their length needs.
    if (extra > 0) this.memory.copyWithin(from + extra, from, this.used)
    this.used += extra
    let at = from - 1
    let rest = size
    for (; rest >= 128; rest >>>= 7) this.memory[at++] = (rest & 0x7f) | 0x80
    this.memory[at] = rest
    return this
  }

  #put(byte: number): void {
    this.memory[this.used++] = byte
  }

  #long(value: bigint): this {
    let rest = BigInt.asUintN(64, value)
    for (; rest >= 128n; rest >>= 7n) this.#put(Number(rest & 0x7fn) | 0x80)
    this.#put(Number(rest))
    return this
  }
}
