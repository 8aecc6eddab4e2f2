// SPDX-License-Identifier: Apache-2.0
import { FLAG, type Evidence } from './evidence.js'
import { CLASSES, type Judgement } from './judgement.js'
import { VERDICT } from './quorum.js'

const HEALTHY = CLASSES.indexOf('healthy')

/** Every flag of a record means trouble, except the one that says that the kubelet is well. */
const TROUBLE = ~FLAG.kubeletWell

const isWell = (judgement: Judgement, evidence: Evidence, index: number): boolean =>
  (evidence.flags[index]! & TROUBLE) === 0 &&
  evidence.downVotes[index] === 0 &&
  judgement.ownDownAt[index] === Infinity &&
  judgement.localUp[index] === 1 &&
  judgement.verdict[index] === VERDICT.healthy &&
  judgement.pending[index] === VERDICT.undecided &&
  judgement.nodeClass[index] === HEALTHY

/**
 * Whether all members are healthy and no record says anything else. Then a newer record with the same content can at most add
 * an up vote, which changes nothing. `Changes.nextAt` still tells when time alone may change something.
 */
export const isSteady = (judgement: Judgement, evidence: Evidence): boolean => {
  if (judgement.voice !== 'full' || judgement.selfSuspect || judgement.correlatedFailure)
    return false
  for (let index = 0; index < evidence.size; index++)
    if (!isWell(judgement, evidence, index)) return false
  return true
}
