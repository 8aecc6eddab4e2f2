// SPDX-License-Identifier: Apache-2.0

/** A buffer that grows. */
export abstract class Growing {
  protected memory: Uint8Array
  protected used = 0

  /** No copy is needed when the capacity is guessed right. */
  constructor(capacity = 256) {
    this.memory = new Uint8Array(capacity)
  }

  /** What was written. The object must not be used afterwards. */
  take(): Uint8Array {
    const { memory, used } = this
    // Copy when a large part of the memory would be kept unused.
    return memory.length - used > used / 8 ? memory.slice(0, used) : memory.subarray(0, used)
  }

  /** Append these bytes. */
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
