// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'

/**
 * A whole body.
 * @param tooLarge what is thrown when it is longer than `maxBytes`
 */
export const readBody = async (
  message: IncomingMessage,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> => {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of message as AsyncIterable<Buffer>) {
    size += part.length
    if (size > maxBytes) throw tooLarge()
    parts.push(part)
  }
  return Buffer.concat(parts, size)
}

/** Headers with the length of a body that was read whole and may have changed. */
export const withLength = (headers: readonly string[], body: Buffer): string[] => {
  const kept = headers.flatMap((name, i) =>
    i % 2 === 0 && !/^(content-length|transfer-encoding)$/i.test(name)
      ? [name, headers[i + 1]!]
      : [],
  )
  return [...kept, 'Content-Length', String(body.length)]
}
