// SPDX-License-Identifier: Apache-2.0

/** Smaller numbers are one byte, themselves. */
export const ONE_BYTE = 0x80

/** Five bytes hold 35 bits: more than anything that we send needs. */
const MAX_VARINT_BYTES = 5

/** Writes at `at`, lowest seven bits first. @param value below 2^35 @returns the offset after it */
export const writeVarint = (out: Uint8Array, at: number, value: number): number => {
  let rest = value
  let place = at
  while (rest >= ONE_BYTE) {
    out[place++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  out[place++] = rest
  return place
}

/** Maps small numbers of either sign to small unsigned ones. */
export const zigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value)

export const unzigzag = (value: number): number => (value % 2 === 1 ? -(value + 1) / 2 : value / 2)

/** Reads bytes from outside, whose lengths may be wrong: a read that does not fit returns −1 and does not advance. */
export class ByteReader {
  at = 0
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.at === this.#bytes.length
  }

  byte(): number {
    const byte = this.#bytes[this.at]
    if (byte === undefined) return -1
    this.at++
    return byte
  }

  varint(): number {
    const first = this.byte()
    if (first < ONE_BYTE) return first
    let value = first & 0x7f
    let scale = 0x80
    for (let i = 1; i < MAX_VARINT_BYTES; i++) {
      const byte = this.byte()
      if (byte < 0) return -1
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 0x80
    }
    return -1
  }

  /** Skip `length` bytes. @returns the offset of the first; −1 when there are fewer */
  skip(length: number): number {
    if (length > this.#bytes.length - this.at) return -1
    const start = this.at
    this.at += length
    return start
  }
}
