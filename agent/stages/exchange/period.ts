// SPDX-License-Identifier: Apache-2.0
import type { Topology } from '../../records/topology.js'
import type { EngineOptions } from './seams.js'

/** `--ring-exchange-period` is that of a zone of so many nodes. */
const RING_NODES = 1_000
/** Times as long at most, in rings of a few nodes. */
const LONGEST_SHARE = 2
/** Rounds while a record counts at least, unless the option itself asks for fewer: news needs some seven of them. */
const ROUNDS_OF_A_RECORD = 16

type Periods = Pick<EngineOptions, 'exchangePeriodMs' | 'ringExchangePeriodMs' | 'recordTtlMs'>

/**
 * Milliseconds between two exchanges while nothing is contested. News needs a number of rounds that grows with the
 * logarithm of the zone: in a small one the rounds may be longer, and nothing known is older than in a large one.
 */
export const quietPeriodMs = (
  { exchangePeriodMs, ringExchangePeriodMs, recordTtlMs }: Periods,
  kind: Topology['kind'],
  size: number,
): number => {
  if (kind === 'mesh') return exchangePeriodMs
  const share = Math.log(RING_NODES) / Math.log(Math.max(2, size))
  const periodMs = ringExchangePeriodMs * Math.min(LONGEST_SHARE, Math.max(1, share))
  return Math.max(ringExchangePeriodMs, Math.min(periodMs, recordTtlMs / ROUNDS_OF_A_RECORD))
}
