// SPDX-License-Identifier: Apache-2.0
import { BYTES, VARINT } from './fields.js'

const encoder = new TextEncoder()
const LOW = 2 ** 32

/** How many bytes a number takes that is neither negative nor beyond 2^53. */
export const varintSize = (value: number): number => {
  let size = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++
  return size
}

/** Collects the bytes of a message. Negative numbers are written as int64, in ten bytes, as Go does. */
export class Sink {
  #bytes: Uint8Array
  #length = 0

  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(capacity)
  }

  get length(): number {
    return this.#length
  }

  /** What was written. The sink is of no use afterwards. A capacity that was guessed right costs no copy. */
  take(): Uint8Array {
    return this.#length === this.#bytes.length ? this.#bytes : this.#bytes.slice(0, this.#length)
  }

  varint(value: number): this {
    this.#reserve(value < 0 ? 10 : varintSize(value))
    if (value < 0) return this.#negative(value)
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

  /** A whole field that is text. */
  text(field: number, value: string): this {
    // At most three bytes for each UTF-16 unit.
    this.#reserve(20 + value.length * 3)
    return this.message(field, () => {
      this.#length += encoder.encodeInto(value, this.#bytes.subarray(this.#length)).written
    })
  }

  /** A whole field around these bytes. */
  bytes(field: number, value: Uint8Array): this {
    return this.varint(field * 8 + BYTES)
      .varint(value.length)
      .copy(value)
  }

  /** These bytes as they are. */
  copy(value: Uint8Array): this {
    this.#reserve(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
    return this
  }

  /** A whole field around what `write` writes into this very sink. */
  message(field: number, write: (inside: Sink) => unknown): this {
    this.varint(field * 8 + BYTES)
    this.#reserve(1)
    const from = ++this.#length
    write(this)
    const size = this.#length - from
    const extra = varintSize(size) - 1
    this.#reserve(extra)
    // Nearly all messages are shorter than 128 bytes; the others move over by the bytes that their length needs.
    if (extra > 0) this.#bytes.copyWithin(from + extra, from, this.#length)
    this.#length += extra
    let at = from - 1
    let rest = size
    for (; rest >= 128; rest >>>= 7) this.#bytes[at++] = (rest & 0x7f) | 0x80
    this.#bytes[at] = rest
    return this
  }

  #put(byte: number): void {
    this.#bytes[this.#length++] = byte
  }

  #negative(value: number): this {
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest >= 128n; rest >>= 7n) this.#put(Number(rest & 0x7fn) | 0x80)
    this.#put(Number(rest))
    return this
  }

  #reserve(more: number): void {
    const wanted = this.#length + more
    if (wanted <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(wanted, this.#bytes.length * 2))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
