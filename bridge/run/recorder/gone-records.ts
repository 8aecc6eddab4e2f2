// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../../core/clock.js'
import { isNotFound, reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import { jitter, type Random } from '../../../core/random.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import { objectsOf } from '../upstream/objects.js'

export interface GoneRecordsSeams {
  readonly client: Pick<ResourceClient, 'get'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Nodes that have a record in the cluster. */
  readonly recorded: () => readonly NodeName[]
  /** Whether the node is an edge node, or connected. */
  readonly isKnown: (node: NodeName) => boolean
  /** Delete everything recorded about the node. Rejects as ResourceClient does. */
  readonly drop: (node: NodeName, signal: AbortSignal) => Promise<void>
}

const LOOK_MS = 600_000
/** An edge whose Node returns within this time is sent only what differs. */
const GRACE_MS = 24 * 3_600_000
/** Nodes that are read in one pass. */
const MOST = 100

/** Deletes the records of edges whose Nodes were deleted a day ago. Lives for one term. */
export class GoneRecords {
  readonly #seams: GoneRecordsSeams
  /** When the Node was first found to be gone, clock ms. */
  readonly #since = new Map<NodeName, number>()

  constructor(seams: GoneRecordsSeams) {
    this.#seams = seams
  }

  /** Resolves soon after the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#seams
    while (await sleep(clock, jitter(random, LOOK_MS, 0.1), signal))
      try {
        await this.#look(signal)
      } catch (error) {
        if (!signal.aborted)
          log.debug('cannot delete the records of deleted Nodes yet', { error: reasonOf(error) })
      }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { recorded, isKnown, clock } = this.#seams
    const unknown = new Set(recorded().filter(node => !isKnown(node)))
    for (const node of this.#since.keys()) if (!unknown.has(node)) this.#since.delete(node)
    const isDue = (node: NodeName): boolean =>
      clock.now() - (this.#since.get(node) ?? -Infinity) >= GRACE_MS
    for (const node of [...unknown].filter(isDue).slice(0, MOST)) await this.#ask(node, signal)
  }

  async #ask(node: NodeName, signal: AbortSignal): Promise<void> {
    const { isKnown, drop, clock, log } = this.#seams
    if (!(await this.#isGone(node, signal))) this.#since.delete(node)
    else if (!this.#since.has(node)) this.#since.set(node, clock.now())
    else if (!isKnown(node)) {
      await drop(node, signal)
      this.#since.delete(node)
      log.info('the record of an edge is removed: its Node is gone', { node })
    }
  }

  /** Asks the API rather than the informer, which may lag. */
  async #isGone(name: NodeName, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#seams.client.get(objectsOf('node'), { name }, signal)
      return false
    } catch (error) {
      if (isNotFound(error)) return true
      throw error
    }
  }
}
