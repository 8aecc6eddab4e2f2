// SPDX-License-Identifier: Apache-2.0

/** Bytes that become more at their end. */
export abstract class Growing {
  protected memory: Uint8Array
  protected used = 0

  /** A capacity that was guessed right costs no copy. */
  constructor(capacity = 256) {
    this.memory = new Uint8Array(capacity)
  }

  /** What was written. This object is of no use afterwards. */
  take(): Uint8Array {
    const { memory, used } = this
    // A copy, where much memory would be kept that holds nothing.
    return memory.length - used > used / 8 ? memory.slice(0, used) : memory.subarray(0, used)
  }

  /** These bytes as they are. */
  copy(value: Uint8Array): this {
    this.reserve(value.length)
    this.memory.set(value, this.used)
    this.used += value.length
    return this
  }

  protected reserve(more: number): void {
    const wanted = this.used + more
    if (wanted <= this.memory.length) return
    const larger = new Uint8Array(Math.max(wanted, this.memory.length * 2))
    larger.set(this.memory.subarray(0, this.used))
    this.memory = larger
  }
}
