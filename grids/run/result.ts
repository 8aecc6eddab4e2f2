// SPDX-License-Identifier: Apache-2.0
import type { WorkResult } from '../../controller/work-queue.js'
import type { Decision } from '../model/decide.js'
import type { Batch } from './batch.js'
import type { GridMemory } from './grid-memory.js'
import type { StatusResult } from './status-writer.js'

/** Wait before the next look while the watch has not reported our own writes yet. */
export const SEEN_MS = 100
/** How soon to check again whether the tables are from the store that the apiserver has now. */
export const DOUBT_MS = 1_000

/** What was done for a grid, and what is still to be done. */
interface Done {
  readonly batch: Pick<Batch, 'unavailable' | 'isWithheld' | 'done' | 'stale'>
  readonly written: StatusResult
  readonly memory: Pick<GridMemory, 'retryMs' | 'staleMs'>
  readonly decision: Decision
  /** Time until the first operation that was left out for a while is due; undefined when there is none. */
  readonly waitMs: number | undefined
  /** The watch has reported all writes. */
  readonly isSettled: boolean
  /** Of the same clock as `decision.nextAt`. */
  readonly now: number
}

/** When to look at the grid again, by the outcome of the write of its status. */
export const resultOfStatus = (result: StatusResult): WorkResult => {
  switch (result.kind) {
    case 'done':
      return { kind: 'done' }
    case 'wait':
      return { kind: 'done', againMs: result.ms }
    case 'failed':
      return { kind: 'failed', reason: result.reason, retryAfterMs: result.retryAfterMs }
  }
}

/** When to look at the grid again: at the earliest time for which there is a reason. */
export const resultOf = (after: Done): WorkResult => {
  const { batch, memory, decision } = after
  const { unavailable } = batch
  if (unavailable !== undefined) {
    const { message: reason, retryAfterMs } = unavailable
    return { kind: 'failed', reason, retryAfterMs }
  }
  const ofStatus = resultOfStatus(after.written)
  if (ofStatus.kind === 'failed') return ofStatus
  const waits = [
    ofStatus.againMs,
    memory.retryMs(decision.operations),
    after.waitMs,
    decision.nextAt === undefined ? undefined : Math.max(0, decision.nextAt - after.now),
    after.isSettled && batch.done.length === 0 ? undefined : SEEN_MS,
    batch.isWithheld ? DOUBT_MS : undefined,
    memory.staleMs(batch.stale),
  ].filter(ms => ms !== undefined)
  return { kind: 'done', ...(waits.length === 0 ? {} : { againMs: Math.min(...waits) }) }
}
