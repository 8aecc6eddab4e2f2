// SPDX-License-Identifier: Apache-2.0
import type { ByteHold } from './byte-budget.js'

/** Smaller chunks are copied into shared blocks, since each would otherwise take many times its size. */
const BLOCK_BYTES = 4 << 10

/**
 * All bytes of a stream of at most `maxBytes`. Memory grows with the bytes received, never with an announced length.
 * @param tooLarge makes the error for a longer stream; a stream that breaks rejects with its own error
 * @param hold reserves what is buffered; the caller frees it. @default nothing is reserved
 * @throws OverBudgetError when `hold` refuses more
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
