// SPDX-License-Identifier: Apache-2.0
import { FLAG, type Evidence } from './evidence.js'
import { CLASSES, type Judgement } from './judgement.js'
import { VERDICT } from './quorum.js'

const HEALTHY = CLASSES.indexOf('healthy')

/** All that a record can say of its own node is trouble, but that the kubelet is well. */
const TROUBLE = ~FLAG.kubeletWell

const isWell = (j: Judgement, e: Evidence, index: number): boolean =>
  (e.flags[index]! & TROUBLE) === 0 &&
  e.downVotes[index] === 0 &&
  j.ownDownAt[index] === Infinity &&
  j.localUp[index] === 1 &&
  j.verdict[index] === VERDICT.healthy &&
  j.pending[index] === VERDICT.undecided &&
  j.nodeClass[index] === HEALTHY

/**
 * Whether everybody is healthy and no record says anything else. Then a newer record with the same content can at most
 * add an up vote, which moves nothing. When time alone may change something is still told by `Changes.nextAt`.
 */
export const isSteady = (j: Judgement, e: Evidence): boolean => {
  if (j.voice !== 'full' || j.selfSuspect || j.correlatedFailure) return false
  for (let index = 0; index < e.size; index++) if (!isWell(j, e, index)) return false
  return true
}
