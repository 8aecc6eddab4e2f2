// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { KubeStatusError, reasonOf, WithheldError } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { statusOf } from '../../kube/client/resource.js'
import type { WriteGuard } from '../../kube/client/write.js'
import type { Json } from '../model/grid.js'
import { MANAGER } from '../model/marks.js'
import type { Counters } from './counters.js'
import type { GridMemory } from './grid-memory.js'
import type { GridRecord } from './grid-record.js'
import { GRID_RESOURCES, writtenType } from './resources.js'
import type { Tables } from './tables.js'

export interface StatusWriterSeams {
  readonly client: Pick<ResourceClient, 'patch'>
  readonly clock: Clock
  readonly log: Logger
  readonly tables: Tables
  readonly counters: Counters
}

/** Shortest time between two statuses of a grid. */
const EACH_MS = 1_000
/** During a lasting change, such as a rollout, updates that change only counts are spaced up to this far apart. */
const MOST_MS = 5_000

interface Conditions extends Json {
  readonly conditions?: readonly {
    readonly type?: string
    readonly status?: string
    readonly reason?: string
  }[]
}

/** The conditions, which people and programs wait for; the rest are counts. */
const newsOf = ({ conditions = [] }: Conditions): string =>
  conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`).join()

/** The outcome of a status write. */
export type StatusResult =
  | { readonly kind: 'done' }
  /** It is too soon after the last one. */
  | { readonly kind: 'wait'; readonly ms: number }
  | {
      readonly kind: 'failed'
      readonly reason: string
      readonly retryAfterMs: number | undefined
    }

/** How long to wait, and how many updates of counts there are in a row by then. */
const paceOf = (
  { lastStatus }: GridMemory,
  now: number,
  isCount: boolean,
): { readonly waitMs: number; readonly inRow: number } => {
  if (lastStatus === undefined) return { waitMs: 0, inRow: 0 }
  const everyMs = isCount ? Math.min(MOST_MS, EACH_MS * 2 ** lastStatus.inRow) : EACH_MS
  const passedMs = now - lastStatus.at
  const goesOn = isCount && passedMs < 2 * MOST_MS
  return { waitMs: everyMs - passedMs, inRow: goesOn ? Math.min(10, lastStatus.inRow + 1) : 0 }
}

/** Writes grids' statuses when they change, at most once a second per grid. */
export class StatusWriter {
  readonly #seams: StatusWriterSeams

  constructor(seams: StatusWriterSeams) {
    this.#seams = seams
  }

  /** @param next the status after a previous one, at a time; undefined when it is the same */
  async write(
    record: GridRecord,
    memory: GridMemory,
    next: (previous: Json, at: string) => Json | undefined,
    { guard, signal }: { readonly guard: WriteGuard; readonly signal: AbortSignal },
  ): Promise<StatusResult> {
    const { clock, counters, tables } = this.#seams
    const at = `${new Date(clock.wall()).toISOString().slice(0, 19)}Z`
    const previous = this.#previous(record, memory)
    const status = next(previous, at)
    if (status === undefined) return { kind: 'done' }
    const pace = paceOf(memory, clock.now(), newsOf(previous) === newsOf(status))
    if (pace.waitMs > 0) return { kind: 'wait', ms: pace.waitMs }
    const patch = {
      type: 'json',
      operations: [
        { op: 'test', path: '/metadata/uid', value: record.uid },
        { op: 'add', path: '/status', value: status },
      ],
    } as const
    const { namespace, name, kind } = record
    try {
      const write = { patch, guard, fieldManager: MANAGER }
      const type = statusOf(writtenType(GRID_RESOURCES[kind]))
      const answer = await this.#seams.client.patch(type, { namespace, name }, write, signal)
      const { resourceVersion: version } = answer
      memory.lastStatus = { status, version, at: clock.now(), inRow: pace.inRow }
      counters.statuses.add('done')
      return { kind: 'done' }
    } catch (error) {
      if (signal.aborted || error instanceof WithheldError) return { kind: 'done' }
      if (tables.grid(record.key)?.uid !== record.uid) return { kind: 'done' }
      counters.statuses.add('failed')
      const retryAfterMs = error instanceof KubeStatusError ? error.retryAfterMs : undefined
      return { kind: 'failed', reason: `status: ${reasonOf(error)}`, retryAfterMs }
    }
  }

  /** The status in the watch, or the one that we wrote while the watch has not reported it. */
  #previous({ key, kind, status }: GridRecord, memory: GridMemory): Json {
    const { tables } = this.#seams
    const unseen = memory.unseenStatus(version => tables.hasReachedGrid(kind, version))
    return unseen ?? tables.grid(key)?.status ?? status
  }
}
