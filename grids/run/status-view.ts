// SPDX-License-Identifier: Apache-2.0
import type { EventRecorderStatus } from '../../controller/event-recorder.js'
import type { InformerStatus } from '../../controller/informer.js'
import type { LeaderStatus } from '../../controller/leader-election.js'
import type { WorkQueueStatus } from '../../controller/work-queue.js'
import type { Distribution } from '../../net/metrics-text.js'

/** The schema of `/status`. */
export interface GridsStatusView {
  readonly version: string
  readonly uptimeSeconds: number
  readonly leader: LeaderStatus
  /** By resource. */
  readonly tables: Readonly<Record<string, InformerStatus>>
  readonly queue: WorkQueueStatus
  readonly grids: {
    readonly known: number
    readonly held: number
    readonly invalid: number
    /** Units, or Services, that failed. */
    readonly failedUnits: number
  }
  /** Since the start. */
  readonly counts: {
    /** Write requests for children, by operation and outcome. */
    readonly writes: Readonly<Record<string, number>>
    readonly drift: Readonly<Record<string, number>>
    readonly statuses: Readonly<Record<string, number>>
    readonly reconciles: Readonly<Record<string, number>>
  }
  readonly reconcileSeconds: Distribution
  readonly events: EventRecorderStatus
}
