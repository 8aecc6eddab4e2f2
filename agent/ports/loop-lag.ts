// SPDX-License-Identifier: Apache-2.0

/** How late this process was: a probe that waits while we sleep says nothing about its target. */
export interface LoopLag {
  /** Look from now on. Nothing is watched while nobody looks, since a process that is not woken costs nothing. */
  look(): LagLook
}

/** One look; it must be ended. */
export interface LagLook {
  /** The longest delay of the event loop since the look began, in milliseconds. */
  readonly mostMs: number
  /** May be called twice. */
  end(): void
}
