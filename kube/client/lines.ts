// SPDX-License-Identifier: Apache-2.0

/**
 * Splits a byte stream into lines at the byte 0x0A alone: JSON text may hold U+2028 and the like, which other
 * splitters take for line ends. A character that is split between two chunks stays whole.
 */
export class LineCutter {
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #size = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Bytes of a line that has not ended yet. */
  get pending(): number {
    return this.#size
  }

  /**
   * The lines that this chunk completes, without their ends; empty lines are left out.
   * @throws RangeError when a line is longer than the limit.
   */
  *push(chunk: Buffer): Generator<string, void, undefined> {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      this.#hold(chunk.subarray(start, end))
      start = end + 1
      if (this.#size > 0) yield this.#take()
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start))
  }

  #hold(part: Buffer): void {
    this.#size += part.length
    if (this.#size > this.#maxBytes)
      throw new RangeError(`a line is longer than ${this.#maxBytes} bytes`)
    this.#parts.push(part)
  }

  #take(): string {
    const only = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, this.#size)
    this.#parts = []
    this.#size = 0
    return only.toString('utf8')
  }
}
