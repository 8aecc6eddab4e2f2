// SPDX-License-Identifier: Apache-2.0
import type { Vote } from '../../../vote/evidence.js'

/** What is known of who is at a target's address. */
export interface AtAddress {
  /**
   * Who signed the last answer from there: `sharer` is another member that has this address too, `own` says that it is
   * the address of our own node. `unasked`: no request to it has ended.
   */
  readonly signedBy: 'itself' | 'sharer' | 'another' | 'nobody' | 'own' | 'unasked'
  /** Other members have the same address. */
  readonly isShared: boolean
  /** The target's own record is fresh: its agent lives, wherever it is. */
  readonly speaks: boolean
}

/**
 * What an answer from the target's address says about the target: it counts for a node only if that node gave it. Where
 * a member signed there that has the same address, or the address is our own, a target that is silent is gone, and one that
 * speaks was not looked at; an address of several counts for the one that last signed there, while it speaks. Whose
 * address is another one proves nothing by signing there: whoever holds a port can pass requests on to any agent, and hand
 * back what it signs. A kubelet signs nothing: where an agent was asked, nobody signed and the address is nobody
 * else's, its answer is taken for the target's.
 */
export const voteFor = ({ signedBy, isShared, speaks }: AtAddress): Vote => {
  if (signedBy === 'another' || signedBy === 'unasked') return 'not-looked'
  if (signedBy === 'sharer' || signedBy === 'own') return speaks ? 'not-looked' : 'down'
  return isShared && !(signedBy === 'itself' && speaks) ? 'not-looked' : 'up'
}
