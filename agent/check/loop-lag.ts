// SPDX-License-Identifier: Apache-2.0

/** How late this process was: a probe that waits while we sleep says nothing about its target. */
export interface LoopLag {
  /** The longest delay of the event loop since that instant of `Clock.now`, in milliseconds. */
  maxSince(at: number): number
}
