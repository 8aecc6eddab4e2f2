// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import type { Work } from '../../controller/work-queue.js'

/**
 * The same work, of which no two runs begin in one turn of the event loop. The plan of a grid can take seconds; between two
 * of them the Lease is renewed and probes are answered. After an abort no run begins.
 */
export const inTurns = (clock: Clock, work: Work): Work => {
  let turn: Promise<unknown> = Promise.resolve()
  return async (key, signal) => {
    turn = turn.then(() => sleep(clock, 0, signal))
    await turn
    return signal.aborted ? { kind: 'done' } : work(key, signal)
  }
}
