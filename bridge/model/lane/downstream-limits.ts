// SPDX-License-Identifier: Apache-2.0

/** Limits of what is sent to one edge. KubeEdge's edges process 30 messages a second, and their Lease renewals share that queue. */
export interface DownstreamLimits {
  /** Unacknowledged messages at a time. 16 delay the renewal of the edge's Lease by half a second. */
  readonly window: number
  /** Bytes of those together; a larger message goes alone. On a slow link acknowledgements wait behind what is sent. */
  readonly windowBytes: number
  /** Counted from when the message has left the bridge's buffer. */
  readonly ackTimeoutMs: number
  /** How often an unacknowledged message is sent again before its object is deferred. */
  readonly resends: number
  /** First wait of a deferred object; it doubles each time up to the longest, since resends cost the edge's network. */
  readonly deferMs: number
  readonly longestDeferMs: number
  /** Waiting messages, and their bytes. */
  readonly maxMessages: number
  readonly maxBytes: number
}

export const DOWNSTREAM_LIMITS: DownstreamLimits = {
  window: 16,
  windowBytes: 256 * 1024,
  ackTimeoutMs: 5_000,
  resends: 3,
  deferMs: 30_000,
  longestDeferMs: 1_800_000,
  maxMessages: 5_000,
  maxBytes: 32 * 1024 * 1024,
}
