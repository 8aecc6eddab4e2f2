// SPDX-License-Identifier: Apache-2.0
import { allOf } from '../../../core/all-of.js'
import { Counts } from '../../../core/counts.js'
import { Histogram } from '../../../net/metrics-text.js'

/** Upper bounds of the histogram of Lease renewals, from arrival to answer, in seconds. */
const LEASE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5] as const

const UNSERVED = allOf<'unknown' | 'ignored'>({ unknown: true, ignored: true })
const DROPPED = allOf<'event'>({ event: true })

/** Counters of edges' requests since the start. */
export class UpstreamCounters {
  /** By handler and outcome: `update-lease done`. */
  readonly requests = new Counts()
  /** Messages without a handler: `unknown` ones were answered with an error, `ignored` ones expected no answer. */
  readonly unknown = new Counts(UNSERVED)
  /** Requests dropped for lack of room: `event`. */
  readonly dropped = new Counts(DROPPED)
  readonly leaseSeconds = new Histogram(LEASE_BUCKETS)
}
