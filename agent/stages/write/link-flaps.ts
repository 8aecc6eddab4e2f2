// SPDX-License-Identifier: Apache-2.0
import { keepOnly } from '../../keep-only.js'

const FIRST_HOLD_MS = 60_000
const LONGEST_HOLD_MS = 600_000
/** After this time without a cut, earlier cuts are forgotten. */
const FORGET_MS = 1_800_000

interface Flaps {
  /** Cuts in a row that were worth a mark. */
  cuts: number
  /** The present cut is among them. */
  isCounted: boolean
  isUp: boolean
  /** When the link was last cut, or came back. */
  turnedAt: number
}

/**
 * Keeps the marks of a flapping cloud link. Marks that say that it is cut are put on at once. After a first cut they are
 * taken off at once; after a second they stay until the link was up for a minute, and twice as long after each further
 * one, up to ten minutes. This does not delay renewing the Lease, and the status shows the link as it is.
 */
export class LinkFlaps {
  readonly #nodes = new Map<string, Flaps>()

  /** The node's link is cut, and marks say so. */
  cut(node: string, now: number): void {
    const flaps = this.#nodes.get(node)
    if (flaps?.isCounted === true) return
    const isKnown = flaps !== undefined && now < flaps.turnedAt + FORGET_MS
    const cuts = isKnown ? flaps.cuts + 1 : 1
    this.#nodes.set(node, { cuts, isCounted: true, isUp: false, turnedAt: now })
  }

  /** The node's link is cut, for too short a time to be marked: it is not up either. */
  cutBriefly(node: string): void {
    const flaps = this.#nodes.get(node)
    if (flaps !== undefined) flaps.isUp = false
  }

  /** The node's link is up. @returns when the marks may go. */
  restored(node: string, now: number): number {
    const flaps = this.#nodes.get(node)
    if (flaps === undefined) return -Infinity
    if (!flaps.isUp) Object.assign(flaps, { isCounted: false, isUp: true, turnedAt: now })
    return this.heldUntil(node)
  }

  /** Until when the marks of a link that is up again stay; −Infinity for no time. */
  heldUntil(node: string): number {
    const flaps = this.#nodes.get(node)
    if (flaps === undefined || !flaps.isUp || flaps.cuts < 2) return -Infinity
    return flaps.turnedAt + Math.min(LONGEST_HOLD_MS, FIRST_HOLD_MS * 2 ** (flaps.cuts - 2))
  }

  /** Forget nodes that left the zone. */
  keepOnly(isKept: (node: string) => boolean): void {
    keepOnly(this.#nodes, isKept)
  }
}
