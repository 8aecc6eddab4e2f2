// SPDX-License-Identifier: Apache-2.0
import type { Cell } from './cell.js'

/** What a zone up to this size must keep to on links that lose nothing; times in milliseconds. */
export interface Bars {
  readonly upTo: number
  /** Crash → shown by every live agent. */
  readonly allP50: number
  readonly allP99: number
  /** Crash → written, hold included. */
  readonly writtenP50: number
  readonly writtenP99: number
  /** Sent by one node while nothing happens. */
  readonly bytesPerSecond: number
  readonly probesPerSecond: number
}

type Row = readonly [
  upTo: number,
  all: readonly [number, number],
  written: readonly [number, number],
  bytes: number,
]

const barsOf = (rows: readonly Row[], checkPeriodS: number): Bars[] =>
  rows.map(([upTo, all, written, bytesPerSecond]) => ({
    upTo,
    allP50: all[0],
    allP99: all[1],
    writtenP50: written[0],
    writtenP99: written[1],
    bytesPerSecond,
    // Two targets, nine, then a mesh of 64 or ten rings; and what the jitter of the period adds.
    probesPerSecond:
      (1.05 * (upTo === 3 ? 2 : upTo === 10 ? 9 : upTo === 64 ? 63 : 10)) / checkPeriodS,
  }))

/** In a zone of three only two look, so that the period itself and its jitter are the bound. */
const BARS: Readonly<Record<Cell['profile'], readonly Bars[]>> = {
  default: barsOf(
    [
      [3, [6_500, 13_800], [12_500, 19_500], 250],
      [10, [4_500, 8_000], [10_000, 14_000], 250],
      [64, [5_000, 8_000], [10_000, 13_000], 700],
      [100, [5_000, 8_000], [10_000, 13_000], 700],
      [1_000, [5_500, 8_000], [11_000, 13_000], 3_500],
      [Infinity, [7_000, 9_000], [13_000, 15_000], 15_000],
    ],
    10,
  ),
  fast: barsOf(
    [
      [3, [2_000, 2_500], [3_000, 4_000], 2_000],
      [10, [1_600, 2_000], [3_000, 3_200], 2_000],
      [100, [1_700, 2_100], [3_000, 3_400], 3_000],
      [1_000, [1_900, 2_100], [3_300, 3_600], 13_000],
      [Infinity, [2_100, 2_300], [3_700, 4_000], 55_000],
    ],
    1,
  ),
}

/**
 * Writing in zones of more than 100 is later than its bar, since a majority must speak after the verdict began
 * (docs/measurements.md). Until that is mended its 99th percentile must keep to this.
 */
const LATE_WRITES = { from: 101, upTo: 1_000, writtenP99: 15_000 }

/** What the 99th percentile of writing must keep to today, where that is not the bar. */
export const lateWritesFor = ({
  profile,
  size,
}: {
  readonly profile: Cell['profile']
  readonly size: number
}): number | undefined =>
  profile === 'default' && size >= LATE_WRITES.from && size <= LATE_WRITES.upTo
    ? LATE_WRITES.writtenP99
    : undefined

/** Those of the next size that has some. */
export const barsFor = ({
  profile,
  size,
}: {
  readonly profile: Cell['profile']
  readonly size: number
}): Bars => BARS[profile].find(({ upTo }) => size <= upTo)!
