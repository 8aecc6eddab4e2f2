// SPDX-License-Identifier: Apache-2.0
import { aborted, sleep, type Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { EventRecorder } from '../../controller/event-recorder.js'
import { logFailures, WorkQueue, type WorkQueueStatus } from '../../controller/work-queue.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { WriteGuard } from '../../kube/client/write.js'
import type { Counters } from './counters.js'
import { inTurns } from './in-turns.js'
import { WriteLimiter } from './write-limiter.js'
import { Reconciler, type GridState } from './reconciler.js'
import { Tables } from './tables.js'

export interface GridsControllerSeams {
  readonly client: ResourceClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly events: Pick<EventRecorder, 'record'>
  readonly counters: Counters
  /** Why nothing may be written now; undefined when it may. */
  readonly guard: WriteGuard
}

export interface GridsControllerOptions {
  readonly graceMs: number
  readonly writesAtOnce: number
  /**
   * Changes of several children of a grid within this time lead to one reconciliation.
   * @default 500
   */
  readonly childNewsMs?: number
}
/** A single pass (`once`) waits for retries within this time, but not for a unit's grace period. */
const SOON_MS = 2_000

const NO_QUEUE: WorkQueueStatus = { ready: 0, delayed: 0, running: 0, failing: 0 }

/** The grids of a cluster: the cache of their objects, and the queue of reconciliations while this process leads. */
export class GridsController {
  readonly tables: Tables
  readonly #options: GridsControllerOptions
  readonly #seams: GridsControllerSeams
  #queue: WorkQueue | undefined
  #reconciler: Reconciler | undefined

  constructor(options: GridsControllerOptions, seams: GridsControllerSeams) {
    this.#options = options
    this.#seams = seams
    const { client, log } = seams
    const { childNewsMs = 500 } = options
    this.tables = new Tables({
      ...{ client, log },
      onGrid: key => this.#queue?.add(key),
      onChild: key => this.#queue?.addAfter(key, childNewsMs),
    })
  }

  get queue(): WorkQueueStatus {
    return this.#queue?.status ?? NO_QUEUE
  }

  get states(): readonly GridState[] {
    return this.#reconciler?.states ?? []
  }

  /** Reconcile all grids until the signal aborts. */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#seams
    const reconciler = this.#begin()
    const work = inTurns(clock, (key, inner) => reconciler.reconcile(key, inner))
    const queue = new WorkQueue(work, {
      ...{ clock, random },
      onFailure: logFailures(log, 'grid failed', (grid, nextMs) => ({
        ...{ grid, nextMs: Math.round(nextMs) },
      })),
    })
    this.#queue = queue
    for (const { key } of this.tables.grids()) queue.add(key)
    await aborted(signal)
    this.#queue = undefined
    await queue.stop()
  }

  /**
   * Reconcile each grid until nothing more is due.
   * @returns the keys of grids that failed, are invalid, or have units that failed
   */
  async once(signal: AbortSignal): Promise<readonly string[]> {
    const reconciler = this.#begin()
    const failed: string[] = []
    for (const { key } of this.tables.grids()) {
      const isDone = await this.#settle(reconciler, key, signal)
      const { isInvalid = false, failed: units = 0 } = reconciler.stateOf(key) ?? {}
      if (!isDone || isInvalid || units > 0) failed.push(key)
      if (signal.aborted) break
    }
    return failed
  }

  async #settle(reconciler: Reconciler, key: string, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      const result = await reconciler.reconcile(key, signal)
      if (result.kind === 'failed') {
        this.#seams.log.warn('grid failed', { grid: key, error: result.reason })
        return false
      }
      if (result.againMs === undefined || result.againMs > SOON_MS) return true
      await sleep(this.#seams.clock, result.againMs, signal)
    }
    return false
  }

  #begin(): Reconciler {
    const limiter = new WriteLimiter(this.#seams.clock, this.#options.writesAtOnce)
    return (this.#reconciler = new Reconciler(this.#options, {
      ...this.#seams,
      ...{ tables: this.tables, limiter },
    }))
  }
}
