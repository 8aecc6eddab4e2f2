// SPDX-License-Identifier: Apache-2.0
import { logFailures, WorkQueue, type WorkResult } from '../../../controller/work-queue.js'
import type { Clock } from '../../../core/clock.js'
import { KubeStatusError, isNotFound, reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import { placeOf, type Place } from '../../model/record/held.js'
import { objectNameOf, objectsOf } from '../upstream/objects.js'

export interface ReaderSeams {
  readonly client: Pick<ResourceClient, 'get'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Called with the object, or undefined if there is none, and the nodes that waited for it. */
  readonly read: (
    place: Place,
    object: JsonMap | undefined,
    nodes: ReadonlySet<NodeName>,
  ) => Promise<void>
}

/** Concurrent reads, reads begun per second, and the backoff of failed ones. */
const LIMITS = { workers: 8, startsPerSecond: 200, firstRetryMs: 500, lastRetryMs: 30_000 }

/** Reads objects whose content is not kept in memory, once for all nodes that wait for it, and repeats failed reads. */
export class Reader {
  readonly #seams: ReaderSeams
  readonly #queue: WorkQueue
  readonly #asked = new Map<string, { readonly place: Place; readonly nodes: Set<NodeName> }>()

  constructor(seams: ReaderSeams) {
    this.#seams = seams
    const { clock, random, log } = seams
    this.#queue = new WorkQueue(
      (key, signal) => this.#read(key, signal),
      {
        ...{ clock, random },
        onFailure: logFailures(log, 'an object for edges cannot be read', object => ({ object })),
      },
      LIMITS,
    )
  }

  /** Objects that are waited for. */
  get waiting(): number {
    return this.#asked.size
  }

  ask(node: NodeName, place: Place): void {
    const key = placeOf(place)
    const asked = this.#asked.get(key) ?? { place, nodes: new Set() }
    asked.nodes.add(node)
    this.#asked.set(key, asked)
    this.#queue.add(key)
  }

  stop(): Promise<void> {
    return this.#queue.stop()
  }

  async #read(key: string, signal: AbortSignal): Promise<WorkResult> {
    const asked = this.#asked.get(key)
    if (asked === undefined) return { kind: 'done' }
    const { place, nodes } = asked
    // A request from now on needs a new read, since the object may change during this one.
    this.#asked.delete(key)
    try {
      await this.#seams.read(place, await this.#get(place, signal), nodes)
      return { kind: 'done' }
    } catch (error) {
      const again = this.#asked.get(key)
      this.#asked.set(key, { place, nodes: new Set([...nodes, ...(again?.nodes ?? [])]) })
      const { retryAfterMs } = error instanceof KubeStatusError ? error : {}
      return { kind: 'failed', reason: reasonOf(error), retryAfterMs }
    }
  }

  async #get(place: Place, signal: AbortSignal): Promise<JsonMap | undefined> {
    try {
      return await this.#seams.client.get(objectsOf(place.type), objectNameOf(place), signal)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }
}
