// SPDX-License-Identifier: Apache-2.0
import type { RecordedRequest } from './api/server.js'

/** An agent's change of a Node. */
export interface NodeWrite {
  readonly node: string
  readonly by: string
  readonly path: string
}

const WRITES = ['create', 'update', 'patch', 'delete']

const writeOf = (request: RecordedRequest): NodeWrite | undefined => {
  const isWrite = WRITES.includes(request.verb) && request.status < 300 && !request.isDryRun
  if (!isWrite || request.resource !== 'nodes' || !request.client.startsWith('agent:'))
    return undefined
  return { node: request.name, by: request.client.slice('agent:'.length), path: request.path }
}

/** The agents' writes to Nodes from now on. @returns a function that reads what was recorded so far */
export const recordNodeWrites = (
  requests: readonly RecordedRequest[],
): (() => readonly NodeWrite[]) => {
  const last = requests.at(-1)
  return () => {
    const from = last === undefined ? 0 : requests.lastIndexOf(last) + 1
    return requests
      .slice(from)
      .map(writeOf)
      .filter(write => write !== undefined)
  }
}
