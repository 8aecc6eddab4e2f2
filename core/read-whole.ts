// SPDX-License-Identifier: Apache-2.0

/**
 * All bytes of a stream that must not be longer than `maxBytes`.
 * @param tooLarge makes what is thrown when it is; else whatever broke the stream is thrown
 */
export const readWhole = async (
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> => {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of chunks) {
    size += part.length
    if (size > maxBytes) throw tooLarge()
    parts.push(part)
  }
  return Buffer.concat(parts, size)
}
