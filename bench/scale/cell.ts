// SPDX-License-Identifier: Apache-2.0
import { CoreZone } from '../../testkit/zone/core-zone.js'

/** One cell of a table: a zone of this size on links that lose so much. */
export interface Cell {
  readonly size: number
  /** Share of packets. */
  readonly loss: number
  readonly profile: 'default' | 'fast'
  readonly seed: number
  readonly flags: readonly string[]
}

/** One way, so that a round trip takes 10 to 20 ms. */
const LATENCY_MS = 5
const JITTER_MS = 5

/** All agents boot within a moment and have time to find each other. */
export const zoneOf = async (cell: Cell, warmMs: number): Promise<CoreZone> => {
  const zone = new CoreZone(cell.size, { ...cell, latencyMs: LATENCY_MS, jitterMs: JITTER_MS })
  zone.bootAll()
  await zone.clock.advance(warmMs)
  return zone
}

/** Let time pass in steps until it is so. @returns whether it was within the limit. */
export const until = async (
  zone: CoreZone,
  isSo: () => boolean,
  limitMs: number,
): Promise<boolean> => {
  for (let ms = 0; ms < limitMs; ms += STEP_MS) {
    if (isSo()) return true
    await zone.clock.advance(STEP_MS)
  }
  return isSo()
}

const STEP_MS = 100
