// SPDX-License-Identifier: Apache-2.0
import { readWhole } from '../../net/read-whole.js'
import type { AgentAnswer } from './agent-client.js'
import { MAX_REPORT_BYTES } from './local-info.js'

/** The agent's address with further query parameters. */
export const withQuery = (address: string, query: Readonly<Record<string, string>>): string => {
  const url = new URL(address)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

/** A whole response as text. Rejects with RangeError for one that is larger than any agent's. */
export const readDocument = async (chunks: AgentAnswer['chunks']): Promise<string> => {
  const tooLarge = (): Error =>
    new RangeError(`/localinfo is larger than ${MAX_REPORT_BYTES} bytes`)
  return (await readWhole(chunks, MAX_REPORT_BYTES, tooLarge)).toString('utf8')
}
