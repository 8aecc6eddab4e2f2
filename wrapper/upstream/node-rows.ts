// SPDX-License-Identifier: Apache-2.0
// Other Nodes are read as rows of a table, which are a thirtieth of the size of the objects.
import { isIP } from 'node:net'
import { type Clock, sleep } from '../../core/clock.js'
import { KubeStatusError, reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import { jitter, type Random } from '../../core/random.js'
import type { KubeClient } from '../../kube/client/client.js'
import type { KnownVersion } from '../../kube/client/known-version.js'
import { cacheQuery, listAll } from '../../kube/client/list-pages.js'
import { ListPoint } from '../../kube/client/list-point.js'
import { tableCodec, TableRow } from '../../kube/client/table-codec.js'
import { rawKey } from '../../kube/client/watch-event.js'
import { ROWS } from '../store/resources.js'

/** What listing rows needs of the world. */
export interface NodeRowsSeams {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Nodes as rows: for lists and watches alike. */
export const NODE_ROWS = { path: ROWS.nodes.path, codec: tableCodec } as const

/** The name of a row's Node. A server without tables sends objects. */
export const nameIn = (row: unknown): string => (row instanceof TableRow ? row.name : rawKey(row))

const ADDRESS = 'Internal-IP'

/** Internal addresses of a row's Node: the first one, which is all that a row has. */
export const addressesIn = (row: unknown): readonly string[] => {
  const address = row instanceof TableRow ? row.text(ADDRESS) : ''
  return isIP(address) === 0 ? [] : [address]
}

/** The query for the rows that match a selector, or for all rows without one. */
export const rowsQuery = (labelSelector?: string): Readonly<Record<string, string>> => ({
  includeObject: 'None',
  ...(labelSelector === undefined ? {} : { labelSelector }),
})

/** Which rows are asked for, and how often. */
export interface Poll {
  /** As logs call it. */
  readonly what: string
  readonly labelSelector?: string
  readonly everyMs: number
  /** Whether the first list is due at once. */
  readonly isUrgent: boolean
  /** The newest known version of Nodes, shared by all that list them. */
  readonly known?: KnownVersion
}

const ANSWER_MS = 30_000
const FIRST_RETRY_MS = 1_000

/**
 * Lists rows of Nodes from the apiserver's watch cache at an interval until stopped. No list is older than the newest known
 * version. After a failure it retries sooner, with growing waits.
 */
export class NodeRowsPoll {
  readonly #poll: Poll
  readonly #seams: NodeRowsSeams
  readonly #take: (rows: readonly unknown[]) => void
  readonly #lists: ListPoint
  readonly #stopping = new AbortController()
  readonly #ended: Promise<void>
  #failures = 0
  /** The last error as text; undefined since the last success. */
  trouble: string | undefined

  constructor(poll: Poll, seams: NodeRowsSeams, take: (rows: readonly unknown[]) => void) {
    this.#poll = poll
    this.#seams = seams
    this.#take = take
    this.#lists = new ListPoint(poll.known)
    this.#ended = this.#run()
  }

  /** Nothing is passed on after this call. May be called twice. */
  stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    return this.#ended
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#seams
    const { signal } = this.#stopping
    const { everyMs, isUrgent } = this.#poll
    if (!isUrgent) await sleep(clock, jitter(random, everyMs, 0.2), signal)
    // Let the caller have its handle before the first rows.
    else await Promise.resolve()
    while (!signal.aborted) await sleep(clock, await this.#turn(signal), signal)
  }

  /** @returns how long to wait for the next */
  async #turn(signal: AbortSignal): Promise<number> {
    const { client, random, log } = this.#seams
    const { everyMs, what, labelSelector } = this.#poll
    // From the watch cache: a list may be some seconds old, and is cheap for the cluster.
    const query = { ...rowsQuery(labelSelector), ...cacheQuery(this.#lists.begin()) }
    const request = { ...NODE_ROWS, query, pageSize: 0, timeoutMs: ANSWER_MS }
    try {
      const { items, version } = await listAll(client, request, signal, row => row)
      if (signal.aborted) return 0
      this.#lists.listed(version)
      this.#failures = 0
      this.trouble = undefined
      this.#take(items)
      return jitter(random, everyMs, 0.2)
    } catch (error) {
      if (signal.aborted) return 0
      if (error instanceof KubeStatusError) this.#lists.refused(error.status)
      this.trouble = reasonOf(error)
      if (this.#failures === 0) log.warn('a poll of nodes failed', { what, error: this.trouble })
      return jitter(
        random,
        Math.min(everyMs, FIRST_RETRY_MS * 2 ** Math.min(20, this.#failures++)),
        0.5,
      )
    }
  }
}
