// SPDX-License-Identifier: Apache-2.0
import type { InformerStatus } from '../../controller/informer.js'
import type { LeaderStatus } from '../../controller/leader-election.js'
import type { ListenerStatus } from '../../net/listen.js'
import type { Distribution } from '../../net/metrics-text.js'
import type { HubStatus } from '../hub/hub.js'

/** The schema of the bridge's `/status`. */
export interface BridgeStatusView {
  readonly version: string
  readonly uptimeSeconds: number
  readonly leader: LeaderStatus
  /** Whether edges are accepted. */
  readonly isServing: boolean
  /** By resource. */
  readonly tables: Readonly<Record<string, InformerStatus>>
  /** Undefined until there are certificates. */
  readonly hub: HubStatus | undefined
  /** By purpose; none until there are certificates. */
  readonly listeners: Readonly<Record<string, ListenerStatus>>
  readonly upstream: {
    /** Requests that run now. */
    readonly running: number
    /** Queued requests. */
    readonly waiting: number
    /** Since the start, by handler and result. */
    readonly requests: Readonly<Record<string, number>>
    readonly unknown: Readonly<Record<string, number>>
    readonly dropped: Readonly<Record<string, number>>
    /** Time from a Lease's arrival to its answer. */
    readonly leaseSeconds: Distribution
  }
  readonly downstream: object
  /** Of agents, through the edges' own Kubernetes API. */
  readonly watches: {
    readonly watches: number
    /** Changes to be sent. */
    readonly waiting: number
    /** Objects in memory for them. */
    readonly objects: number
  }
}
