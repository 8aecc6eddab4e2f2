// SPDX-License-Identifier: Apache-2.0
import type { InformerStatus } from '../../controller/informer.js'
import type { Distribution } from '../../net/metrics-text.js'

/** `/status` of the webhook. */
export interface AdmissionStatusView {
  readonly version: string
  readonly uptimeSeconds: number
  readonly mode: 'vouched' | 'superedge'
  /** The Nodes as they are known. */
  readonly nodes: InformerStatus & {
    /** Whether decisions may rest on them. */
    readonly isReady: boolean
    /** Names of nodes that are kept now. */
    readonly kept: readonly string[]
  }
  readonly certificate: {
    /** ISO 8601; null before there is one. */
    readonly validUntil: string | null
    /** Whether the apiserver was told to trust it. */
    readonly isTrusted: boolean
    /** How often another one was served since the start. */
    readonly renewals: number
    /** Why it could not be looked after; null since the last success. */
    readonly trouble: string | null
  }
  /** Since the start. */
  readonly counts: {
    /** Reviews by path and what became of the write. */
    readonly reviews: Readonly<Record<string, number>>
    /** Requests that were no review, by HTTP status. */
    readonly refusals: Readonly<Record<string, number>>
  }
  readonly reviewSeconds: Distribution
}
