// SPDX-License-Identifier: Apache-2.0
import type { ByteHold } from './byte-budget.js'

/** Pieces smaller than this are copied together: each by itself would cost many times its size. */
const BLOCK_BYTES = 4 << 10

/**
 * All bytes of a stream that must not be longer than `maxBytes`. Memory grows with what has come, never with what was
 * announced.
 * @param tooLarge makes what is thrown when it is; else whatever broke the stream is thrown
 * @param hold counts what is held until all is there; the caller frees it. @default not counted
 * @throws OverBudgetError when there is no room for more
 */
export const readWhole = async (
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
  hold?: ByteHold,
): Promise<Buffer> => {
  const parts: Uint8Array[] = []
  let size = 0
  let block = Buffer.alloc(0)
  let filled = 0
  for await (const part of chunks) {
    size += part.length
    if (size > maxBytes) throw tooLarge()
    if (filled + part.length > block.length) {
      hold?.take(Math.max(part.length, BLOCK_BYTES))
      parts.push(block.subarray(0, filled))
      filled = 0
      block = part.length < BLOCK_BYTES ? Buffer.allocUnsafeSlow(BLOCK_BYTES) : Buffer.alloc(0)
      if (part.length >= BLOCK_BYTES) {
        parts.push(part)
        continue
      }
    }
    block.set(part, filled)
    filled += part.length
  }
  parts.push(block.subarray(0, filled))
  return Buffer.concat(parts, size)
}
