// SPDX-License-Identifier: Apache-2.0
/** How the vote decides; all lengths of time in milliseconds. Defaults are those of `--profile default`. */
export interface VoteOptions {
  /** A record older than this does not count any more (Tstale, SuperEdge's votetimeout). @default 60_000 */
  readonly recordTtlMs: number
  /** How long an "up" vote about a contested node counts before it must be re-affirmed (W). @default 8_000 */
  readonly reaffirmWindowMs: number
  /** How long verdict and component quorum must hold before anything is written. @default 5_000 */
  readonly writeHoldMs: number
  /** A writer waits this long for each silent writer before it, and thirty times as long for each that is heard. @default 2_000 */
  readonly writerStaggerMs: number
  /** Largest share of the zone that may be condemned at one time; at least one node may. 0 … 1. @default 0.4 */
  readonly brakeShare: number
  /** Who breaks the tie in a zone of two: `'none'` abstains. @default 'apiserver' */
  readonly witness: 'none' | 'apiserver' | 'target'
  /** How a vouched node is kept: renew its Lease, take the taint off, or not at all. @default 'lease' */
  readonly vouch: 'lease' | 'taint' | 'off'
  /** A vouched node's own record must be younger than this. @default 30_000 */
  readonly vouchFreshMs: number
  /** A node that announced that it leaves is not condemned for this long. @default 30_000 */
  readonly leaveGraceMs: number
}
