// SPDX-License-Identifier: Apache-2.0

/** How late this process was: a probe that waits while this process sleeps says nothing about its target. */
export interface LoopLag {
  /** Begin to measure. Between measurements no timer runs: a process that is not woken costs nothing. */
  look(): LagLook
}

/** One measurement; it must be ended. */
export interface LagLook {
  /** The longest delay of the event loop since it began, in milliseconds. */
  readonly mostMs: number
  /** All delays together, in milliseconds. */
  readonly lostMs: number
  /** May be called twice. */
  end(): void
}
