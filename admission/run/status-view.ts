// SPDX-License-Identifier: Apache-2.0
import type { InformerStatus } from '../../controller/informer.js'
import type { Distribution } from '../../net/metrics-text.js'

/** The schema of the webhook's `/status`. */
export interface AdmissionStatusView {
  readonly version: string
  readonly uptimeSeconds: number
  readonly mode: 'vouched' | 'superedge'
  /** The informer of Nodes. */
  readonly nodes: InformerStatus & {
    /** Whether decisions can be based on it. */
    readonly isReady: boolean
    /** Names of the nodes that are kept now. */
    readonly kept: readonly string[]
  }
  readonly certificate: {
    /** ISO 8601; null when there is none. */
    readonly validUntil: string | null
    /** Whether its authority is in the webhook configurations. */
    readonly isTrusted: boolean
    /** How many times a new certificate came into use. */
    readonly renewals: number
    /** Why maintaining it failed; null since the last success. */
    readonly trouble: string | null
  }
  /** Since the start. */
  readonly counts: {
    /** Reviews by path and outcome. */
    readonly reviews: Readonly<Record<string, number>>
    /** Requests that are not reviews, by HTTP status. */
    readonly refusals: Readonly<Record<string, number>>
  }
  readonly reviewSeconds: Distribution
}
