// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from './ids.js'

/** A node to be probed. */
export interface Target {
  readonly name: NodeName
  /** IP address without brackets. Never a host name: a dead resolver must not look like dead peers. */
  readonly address: string
}

/** What one probe found. */
export type ProbeResult =
  | { readonly kind: 'success' }
  | { readonly kind: 'failure'; readonly reason: string }
  /** The prober itself failed (no socket, no file, …). This says nothing about the node, so it is not a vote. */
  | {
      readonly kind: 'unknown'
      readonly reason: string
      /** True when only a repair on this node ends it: a missing or unusable file, a wrong clock. */
      readonly needsRepair?: true
    }

/** How one attempt may reach its target. */
export interface Attempt {
  /** Aborts when the attempt's time is over or its answer is no longer wanted. */
  readonly signal: AbortSignal
  /** False: the attempt must open a connection of its own, since a kept one may be stuck. */
  readonly reuse: boolean
}

/** A kind of probe with a weight. Stateless apart from kept connections. */
export interface CheckPlugin {
  readonly name: string
  /** Its share of the score in millionths, so that sums are exact; 1_000_000 is the weight 1. */
  readonly weight: number
  /** True when a probe goes to the node itself; false when it only reads what somebody else reported about it. */
  readonly reachesNode: boolean
  /**
   * Probe once. Resolves within the attempt's signal; never rejects for what the network does
   * (an aborted attempt is a `failure` with the reason `no answer`).
   */
  probe(target: Target, attempt: Attempt): Promise<ProbeResult>
  /** Close kept connections. May be called twice. */
  close?(): void
}
