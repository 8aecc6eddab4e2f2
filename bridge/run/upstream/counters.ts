// SPDX-License-Identifier: Apache-2.0
import { allOf } from '../../../core/all-of.js'
import { Counts } from '../../../core/counts.js'
import { Histogram } from '../../../net/metrics-text.js'

/** Upper bounds, in seconds: how long Leases of nodes took from their arrival to their answer. */
const LEASE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5] as const

const UNSERVED = allOf<'unknown' | 'ignored'>({ unknown: true, ignored: true })
const DROPPED = allOf<'event'>({ event: true })

/** What edges asked and were answered since the start; metrics and status read it. */
export class UpstreamCounters {
  /** Requests by handler and what became of them: `update-lease done`. */
  readonly requests = new Counts()
  /** Messages without a handler: `unknown` were answered so, `ignored` had nobody waiting. */
  readonly unknown = new Counts(UNSERVED)
  /** What had no room: `event`. */
  readonly dropped = new Counts(DROPPED)
  readonly leaseSeconds = new Histogram(LEASE_BUCKETS)
}
