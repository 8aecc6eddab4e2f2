// SPDX-License-Identifier: Apache-2.0
import type { Vote } from '../../../vote/evidence.js'

/** What is known about the agent at a target's address. */
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
 * What an answer from the target's address says about the target. It counts only if the target itself gave it:
 * - Another member with the same address signed there, or the address is this node's own: a silent target is down, and
 *   one whose agent speaks counts as not looked at.
 * - Several members have the address: it counts for the one that signed there last, while that one speaks.
 * - A member with another address signed there: this proves nothing, since a program on that port can forward requests to
 *   any agent, and return what it signs.
 * - Nobody signed although an agent was asked: kubelets sign nothing, so the answer counts, unless the address is shared.
 */
export const voteFor = ({ signedBy, isShared, speaks }: AtAddress): Vote => {
  if (signedBy === 'another' || signedBy === 'unasked') return 'not-looked'
  if (signedBy === 'sharer' || signedBy === 'own') return speaks ? 'not-looked' : 'down'
  return isShared && !(signedBy === 'itself' && speaks) ? 'not-looked' : 'up'
}
