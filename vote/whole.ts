// SPDX-License-Identifier: Apache-2.0
import type { Evidence } from './evidence.js'
import type { Judgement } from './judgement.js'
import { CLASSES } from './judgement.js'
import { VERDICT } from './quorum.js'
import { STANDING } from './tally.js'

const HEALTHY = CLASSES.indexOf('healthy')

const isWell = (j: Judgement, e: Evidence, index: number): boolean =>
  j.standing[index] === STANDING.counts &&
  e.downVotes[index] === 0 &&
  j.ownDownAt[index] === Infinity &&
  j.localUp[index] === 1 &&
  j.verdict[index] === VERDICT.healthy &&
  j.pending[index] === VERDICT.undecided &&
  j.nodeClass[index] === HEALTHY

/**
 * Whether everybody is healthy, is heard, and nobody says otherwise. Then a record that repeats its word with a
 * younger date moves nothing: all it could do is to make a vote count, and all of them count. What time alone may
 * change is told by `Changes.nextAt`, as ever.
 */
export const isWhole = (j: Judgement, e: Evidence): boolean => {
  if (j.voice !== 'full' || j.selfSuspect || j.mass) return false
  for (let index = 0; index < e.size; index++) if (!isWell(j, e, index)) return false
  return true
}
