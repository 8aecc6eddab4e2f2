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
  /** Delete everything recorded about the node. Rejects as ResourceClient does. @returns whether that was possible */
  readonly drop: (node: NodeName, signal: AbortSignal) => Promise<boolean>
}

const LOOK_MS = 600_000
/** An edge whose Node returns within this time is sent only what differs. */
const GRACE_MS = 24 * 3_600_000
/** A Node that exists, but is no edge node, is not read again before this time is over. */
const FOUND_MS = 3_600_000
/** Nodes that are read in one pass. */
const MOST = 100

/** What is known of a node that has a record and is no edge node. */
interface Turn {
  readonly isGone: boolean
  /** When to ask for its Node, clock ms. */
  readonly dueAt: number
}
const UNKNOWN: Turn = { isGone: false, dueAt: -Infinity }

/** Deletes the records of edges whose Nodes were deleted a day ago. Lives for one term. */
export class GoneRecords {
  readonly #seams: GoneRecordsSeams
  /** In the order in which they were asked for last, so that each has its turn. */
  readonly #turns = new Map<NodeName, Turn>()

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
    for (const node of this.#turns.keys()) if (!unknown.has(node)) this.#turns.delete(node)
    for (const node of unknown) if (!this.#turns.has(node)) this.#turns.set(node, UNKNOWN)
    const due = [...this.#turns].filter(([, { dueAt }]) => dueAt <= clock.now())
    for (const [node, turn] of due.slice(0, MOST)) await this.#ask(node, turn, signal)
  }

  async #ask(node: NodeName, turn: Turn, signal: AbortSignal): Promise<void> {
    const { isKnown, drop, clock, log } = this.#seams
    // Even if it fails, or cannot be dropped yet.
    this.#turns.delete(node)
    this.#turns.set(node, turn)
    const isGone = await this.#isGone(node, signal)
    if (!isGone) this.#turns.set(node, { isGone, dueAt: clock.now() + FOUND_MS })
    else if (!turn.isGone) this.#turns.set(node, { isGone, dueAt: clock.now() + GRACE_MS })
    else if (!isKnown(node) && (await drop(node, signal))) {
      this.#turns.delete(node)
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
