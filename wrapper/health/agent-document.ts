// SPDX-License-Identifier: Apache-2.0
import type { AgentAnswer } from './agent-client.js'

const MAX_DOCUMENT_BYTES = 8 << 20

/** The agent's address with more in its query. */
export const withQuery = (address: string, query: Readonly<Record<string, string>>): string => {
  const url = new URL(address)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

/** A whole answer as text. Rejects with RangeError for one that no agent gives. */
export const readDocument = async (chunks: AgentAnswer['chunks']): Promise<string> => {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of chunks) {
    size += part.length
    if (size > MAX_DOCUMENT_BYTES) throw new RangeError(`/localinfo is larger than ${size} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts, size).toString('utf8')
}
